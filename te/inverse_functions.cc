// Inverses of the trigonometric functions, hyperbolic functions and their inverses, atan2, hypot: formulas of float64
// over sqrt, atan, exp, expm1 and log1p.
//
//   asin x = x + x^3 P(x^2) on abs(x) <= 1/2, above it pi/2 - 2 asin s,  s = sqrt((1 - abs(x)) / 2) <= 1/2
//   acos x = pi/2 - asin x,  2 asin s,  pi - 2 asin s
//   sinh a = (u + u / (u + 1)) / 2,  u = e^a - 1;     where e^-a vanishes beside e^a:  (e^(a/2) / 2) e^(a/2)
//   asinh a = log1p(a + a^2 / (1 + sqrt(a^2 + 1))),   acosh x = log1p(t + sqrt(t^2 + 2 t)),  t = x - 1
//     where the square of the argument would overflow:  log1p(a) + ln 2
//   atanh a = log1p(2 a / (1 - a)) / 2
//   atan2(y, x):  the arc tangent of the smaller by the larger, in the octant of (x, y)
//
// of a = abs(x), where the function is odd. P interpolates at Chebyshev's points, degree 12 (2^-58).
#include <initializer_list>
#include <limits>

#include "te/float_parts.h"
#include "tensorwright/te_functions.h"

namespace tw::te {

using ir::Fn;

namespace {

constexpr double kQuarter = 0x1.921fb54442d18p+0, kQuarterLow = 0x1.1a62633145c07p-54;  // pi/2 as two values
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr series(const Expr& z) {
  Expr sum;
  for (const double c :
       {0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6, 0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7,
        0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7, 0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6, 0x1.f1c71c1db0623p-6,
        0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4, 0x1.5555555555556p-3})
    sum = sum ? sum * z + real(c) : real(c);
  return sum;
}

// asin r = r + rest for r = abs(x), or for r = s where that is above one half.
struct Arc {
  Expr outer, r, rest;
  explicit Arc(const Expr& a) : outer(a > real(0.5)) {
    const Expr folded = (real(1) - a) * real(0.5);
    const Expr z = ir::select(outer, folded, a * a);
    r = ir::select(outer, sqrt(folded), a);
    rest = r * z * series(z);
  }
};

Expr arc_sine(const Expr& x) {
  const Arc arc(abs(x));
  const Expr outer = real(kQuarter) - (real(2) * arc.r + (real(2) * arc.rest - real(kQuarterLow)));
  return with_sign_of(ir::select(arc.outer, outer, arc.r + arc.rest), x);
}

Expr arc_cosine(const Expr& x) {
  const Arc arc(abs(x));
  const Expr negative = x < real(0), twice = real(2) * arc.rest;
  const Expr obtuse = real(2 * kQuarter) - (real(2) * arc.r + (twice - real(2 * kQuarterLow)));
  const Expr outer = ir::select(negative, obtuse, real(2) * arc.r + twice);
  const Expr r = ir::select(negative, real(0) - arc.r, arc.r),
             rest = ir::select(negative, real(0) - arc.rest, arc.rest);
  return ir::select(arc.outer, outer, real(kQuarter) - (r + (rest - real(kQuarterLow))));
}

Expr hyperbolic_sine(const Expr& x) {
  const Expr a = abs(x), u = expm1(ir::min(real(22), a)), root = exp(a * real(0.5));
  const Expr small = (u + divide(u, u + real(1))) * real(0.5);
  return with_sign_of(ir::select(a > real(22), root * real(0.5) * root, small), x);
}

Expr hyperbolic_cosine(const Expr& x) {
  const Expr a = abs(x), root = exp(a * real(0.5)), whole = root * root;
  return ir::select(a > real(22), root * real(0.5) * root, whole * real(0.5) + divide(real(0.5), whole));
}

Expr ln2_where(const Expr& large) { return ir::select(large, real(0.6931471805599453), real(0)); }

Expr inverse_sine(const Expr& x) {
  const Expr a = abs(x), large = a > real(0x1p60), square = a * a;
  const Expr above = a + divide(square, real(1) + sqrt(square + real(1)));
  return with_sign_of(log1p(ir::select(large, a, above)) + ln2_where(large), x);
}

Expr inverse_cosine(const Expr& x) {
  const Expr t = x - real(1), large = x > real(0x1p60);
  const Expr value = log1p(ir::select(large, x, t + sqrt(t * t + (t + t)))) + ln2_where(large);
  return ir::select(x < real(1), real(std::numeric_limits<double>::quiet_NaN()), value);
}

Expr inverse_tangent(const Expr& x) {
  const Expr a = abs(x);
  return with_sign_of(log1p(divide(a + a, real(1) - a)) * real(0.5), x);
}

Expr angle(const Expr& y, const Expr& x) {
  const Expr height = abs(y), width = abs(x), steep = height > width, left = pattern(x) < whole(0);
  const Expr at_end = ir::eq(height, real(kInfinity)) && ir::eq(width, real(kInfinity));
  const Expr larger = ir::select(steep, height, width);
  const Expr n = ir::select(at_end, real(1), ir::select(steep, width, height));
  const Expr d = ir::select(at_end || ir::eq(larger, real(0)), real(1), larger);
  const Expr r = atan(divide(n, d));
  const auto corner = [&](double quarter) {
    return ir::select(steep, real(quarter), ir::select(left, real(2 * quarter), real(0)));
  };
  const Expr turned = ir::select(ir::ne(steep, left), real(0) - r, r);
  return with_sign_of(corner(kQuarter) + (turned + corner(kQuarterLow)), y);
}

// Both brought near 1 by a power of two.
Expr root_of_squares(const Expr& x, const Expr& y) {
  const Expr a = abs(x), b = abs(y), large = ir::select(a > b, a, b), small = ir::select(a > b, b, a);
  const auto one_of = [&](double if_small, double if_large) {
    return ir::select(large < real(0x1p-500), real(if_small),
                      ir::select(large > real(0x1p500), real(if_large), real(1)));
  };
  const Expr scale = one_of(0x1p600, 0x1p-600), l = large * scale, s = small * scale;
  const Expr root = sqrt(s * s + l * l) * one_of(0x1p-600, 0x1p600);
  return ir::select(ir::eq(a, real(kInfinity)) || ir::eq(b, real(kInfinity)), real(kInfinity), root);
}

Expr of_one(const char* name, Expr (*f)(const Expr&), Expr x) {
  expect_float(name, x);
  return in_float64(f, std::move(x));
}

Expr of_two(const char* name, Expr (*f)(const Expr&, const Expr&), Expr x, Expr y) {
  promote_floats(name, x, y);
  return in_float64(f, std::move(x), std::move(y));
}

}  // namespace

Expr asin(Expr e) { return of_one("asin", arc_sine, std::move(e)); }
Expr acos(Expr e) { return of_one("acos", arc_cosine, std::move(e)); }
Expr sinh(Expr e) { return of_one("sinh", hyperbolic_sine, std::move(e)); }
Expr cosh(Expr e) { return of_one("cosh", hyperbolic_cosine, std::move(e)); }
Expr asinh(Expr e) { return of_one("asinh", inverse_sine, std::move(e)); }
Expr acosh(Expr e) { return of_one("acosh", inverse_cosine, std::move(e)); }
Expr atanh(Expr e) { return of_one("atanh", inverse_tangent, std::move(e)); }
Expr atan2(Expr y, Expr x) { return of_two("atan2", angle, std::move(y), std::move(x)); }
Expr hypot(Expr x, Expr y) { return of_two("hypot", root_of_squares, std::move(x), std::move(y)); }

Expr exp10(Expr e) {
  expect_float("exp10", e);
  return power(ir::imm(e.type(), 10), e);
}

}  // namespace tw::te
