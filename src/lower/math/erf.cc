// erf.
//
//   |x| <= 0.92:  x + x * P(x^2)              minimax for the relative error
//   |x|  > 0.92:  1 - e^G(|x|),  G(t) ~ log(erfc(t)), minimax for the error of erf; 1 from where it rounds to it
//
// float32: degrees 6 (in x^2) and 6, errors 2^-31 and 2^-29. float64: degrees 11 and 18, errors 2^-59 and 2^-58.

#include "src/lower/math/functions.h"

namespace tw::lower::math {

using namespace ir;

namespace {

Expr near_zero(const Computation& c, const Expr& square) {
  if (c.is_double())
    return c.polynomial(square,
                        {-0x1.c6ccdcf890006p-31, 0x1.df71a7a137d96p-27, -0x1.5d2296007e5d7p-23, 0x1.b9aa5c2786d4dp-20,
                         -0x1.f4ce43bf80987p-17, 0x1.f9a2f7552cb7ep-14, -0x1.c02db2921f767p-11, 0x1.565bcd076d656p-8,
                         -0x1.b82ce312604e7p-6, 0x1.ce2f21a042451p-4, -0x1.812746b0379dep-2, 0x1.06eba8214db68p-3});
  return c.polynomial(square, {8.317266474477947e-05, -0.0008130121859721839, 0.005199914798140526,
                               -0.026858944445848465, 0.11283687502145767, -0.37612631916999817, 0.12837916612625122});
}

Expr log_erfc(const Computation& c, const Expr& t) {
  if (c.is_double())
    return c.polynomial(t,
                        {0x1.6e0d3f8f7b946p-40, -0x1.00cceca6d2383p-34, 0x1.516a56e037000p-30, -0x1.1397560084407p-26,
                         0x1.38f2502164f81p-23, -0x1.051d3227ffca6p-20, 0x1.48849b6af8f62p-18, -0x1.37a352e5dbc86p-16,
                         0x1.ab5e8561b1b7ep-15, -0x1.5fb8a500eb872p-14, -0x1.5385ad86183d7p-16, 0x1.3d7326c6e8878p-11,
                         -0x1.c4ff71a044170p-10, 0x1.ff5b2fd9efceep-13, 0x1.38fc93c059561p-6, -0x1.a4e7805fd134ep-4,
                         -0x1.45f3980e57be7p-1, -0x1.20dd661415b42p+0, -0x1.6a2c3f3afbc75p-24});
  return c.polynomial(t, {0.00019582455570343882, -0.0030421598348766565, 0.022222889587283134, -0.10392361879348755,
                          -0.6371908783912659, -1.1276707649230957, -0.00019680036348290741});
}

}  // namespace

Expr erf(Computation& c, const Expr& x) {
  const Expr one = c.value(1);
  const Expr t = c.name("t", min(c.value(c.is_double() ? 6 : 4), c.absolute(x)));
  const Expr g = c.name("g", log_erfc(c, t));
  const NormalExp e = normal_exp(c, g);
  const Expr large = one - (e.p + one) * e.scale;
  const Expr small = c.fma(x, near_zero(c, c.name("square", x * x)), x);
  return select(t > c.value(0.92), c.with_sign_of(large, x), small);
}

}  // namespace tw::lower::math
