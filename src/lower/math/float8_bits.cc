// float8_e4m3fn: 1 + 4 + 3 bits, only the pattern of all ones is NaN; float8_e5m2: 1 + 5 + 2 bits, the upper half of a
// float16.

#include "src/lower/math/float8_bits.h"

#include <bit>
#include <cmath>

#include "src/lower/math/computation.h"

namespace tw::lower::math {

using namespace ir;

namespace {

struct Format {
  int fraction, bias;
  int64_t special;   // the first pattern that is no finite number
  int64_t overflow;  // of a magnitude that is too large
  int64_t nan;
  double smallest;  // normal number
};
Format format_of(Type t) {
  if (t.code == TypeCode::kE5M2) return {2, 15, 0x7c, 0x7c, 0x7e, 0x1p-14};
  return {3, 7, 0x7f, 0x7f, 0x7f, 0x1p-6};
}

Expr u32(const Expr& like, int64_t value) { return int_imm(Type::u(32, like.type().lanes), value); }
int64_t pattern_of(double value) { return static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(value))); }

}  // namespace

// Shifted into place, the number is a float32 whose exponent has the wrong bias; the product mends it, of denormals
// too.
Expr widen_float8(const Expr& x) {
  const Format f = format_of(x.type());
  const int lanes = x.type().lanes;
  Computation c(Type::f(32, lanes), false);
  const Expr bits = c.name("bits", cast(Type::u(32, lanes), reinterpret(Type::u(8, lanes), x)));
  const Expr magnitude = c.name("magnitude", bit_and(bits, u32(bits, 0x7f)));
  const double scale = std::ldexp(1.0, 127 - f.bias);
  const Expr number = reinterpret(bits.type(), c.from_pattern(shift_left(magnitude, 23 - f.fraction)) * c.value(scale));
  const Expr nan = u32(bits, 0x7fc00000);
  const Expr special = f.special == 0x7c ? select(eq(magnitude, u32(bits, 0x7c)), u32(bits, 0x7f800000), nan) : nan;
  const Expr size = select(magnitude >= u32(bits, f.special), special, number);
  return c.finish(c.from_pattern(bit_or(shift_left(bit_and(bits, u32(bits, 0x80)), 24), size)));
}

// Normal results: rebias the exponent and round by adding; denormal ones: adding a power of two whose last place is the
// smallest denormal leaves the rounded digits in the lowest bits.
Expr narrow_float8(Type type, const Expr& x) {
  const Format f = format_of(type);
  const int lanes = x.type().lanes, dropped = 23 - f.fraction;
  Computation c(Type::f(32, lanes), false);
  const Expr all = c.name("all", reinterpret(Type::u(32, lanes), x));
  const Expr sign = shift_right(bit_and(all, u32(all, 0x80000000)), 24);
  const Expr bits = c.name("bits", bit_and(all, u32(all, 0x7fffffff)));
  const Expr odd = bit_and(shift_right(bits, dropped), u32(all, 1));
  const int64_t rebias = (int64_t{1} << (dropped - 1)) - 1 - (int64_t{127 - f.bias} << 23);
  const Expr normal = shift_right(bits + u32(all, rebias) + odd, dropped);
  const double aligned = f.smallest * std::ldexp(1.0, dropped);
  const Expr denormal =
      reinterpret(bits.type(), c.from_pattern(bits) + c.value(aligned)) - u32(all, pattern_of(aligned));
  const Expr small = bits < u32(all, pattern_of(f.smallest));
  const Expr rounded = c.name("rounded", select(small, denormal, normal));
  // Far beyond the largest number `normal` has wrapped.
  const Expr large = bits >= u32(all, pattern_of(131072)) || rounded >= u32(all, f.special);
  const Expr nan = bits > u32(all, 0x7f800000);
  const Expr size = select(nan, u32(all, f.nan), select(large, u32(all, f.overflow), rounded));
  return c.finish(reinterpret(type, cast(Type::u(8, lanes), bit_or(sign, size))));
}

}  // namespace tw::lower::math
