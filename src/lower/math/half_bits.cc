// float16: 1 + 5 + 10 bits, bfloat16: 1 + 8 + 7 bits (the upper half of a float32).

#include "src/lower/math/half_bits.h"

#include "src/lower/math/computation.h"

namespace tw::lower::math {

using namespace ir;

namespace {

Expr u32(const Expr& like, int64_t value) { return int_imm(Type::u(32, like.type().lanes), value); }

// The 16 bits, in the lower half of 32.
Expr bits_of(const Expr& half) {
  const int lanes = half.type().lanes;
  return cast(Type::u(32, lanes), reinterpret(Type::u(16, lanes), half));
}
Expr half_from(Type half_type, const Expr& bits) {
  return reinterpret(half_type, cast(Type::u(16, half_type.lanes), bits));
}

// Shifted into place, a float16 is a float32 that is 2^112 too small; the product is exact, for denormals too.
Expr widen16(Computation& c, const Expr& half) {
  const Expr bits = c.name("bits", bits_of(half));
  const Expr magnitude = c.name("magnitude", bit_and(bits, u32(bits, 0x7fff)));
  const Expr sign = shift_left(bit_and(bits, u32(bits, 0x8000)), 16);
  const Expr scaled =
      reinterpret(Type::u(32, c.type().lanes), c.from_pattern(shift_left(magnitude, 13)) * c.value(0x1p112));
  const Expr special = bit_or(shift_left(magnitude, 13), u32(bits, 0x7f800000));
  return c.from_pattern(bit_or(sign, select(magnitude >= u32(bits, 0x7c00), special, scaled)));
}

// Normal results: rebias the exponent and round by adding; denormal ones: adding 0.5 leaves the rounded digits in the
// lowest bits; from 2^16 on infinity (what rounds up to it carries into the exponent by itself).
Expr narrow16(Computation& c, Type half_type, const Expr& x) {
  const Expr all = c.name("all", reinterpret(Type::u(32, c.type().lanes), x));
  const Expr sign = shift_right(bit_and(all, u32(all, 0x80000000)), 16);
  const Expr bits = c.name("bits", bit_and(all, u32(all, 0x7fffffff)));
  const Expr odd = bit_and(shift_right(bits, 13), u32(all, 1));
  const Expr normal = shift_right(bits + u32(all, 0xc8000fff) + odd, 13);
  const Expr denormal = reinterpret(bits.type(), c.from_pattern(bits) + c.value(0.5)) - u32(all, 0x3f000000);
  const Expr special = select(bits > u32(all, 0x7f800000), u32(all, 0x7e00), u32(all, 0x7c00));
  const Expr magnitude =
      select(bits >= u32(all, 0x47800000), special, select(bits < u32(all, 0x38800000), denormal, normal));
  return half_from(half_type, bit_or(sign, magnitude));
}

Expr narrow_bfloat(Computation& c, Type half_type, const Expr& x) {
  const Expr bits = c.name("bits", reinterpret(Type::u(32, c.type().lanes), x));
  const Expr odd = bit_and(shift_right(bits, 16), u32(bits, 1));
  const Expr rounded = shift_right(bits + u32(bits, 0x7fff) + odd, 16);
  const Expr quiet = bit_or(shift_right(bits, 16), u32(bits, 0x40));
  return half_from(half_type, select(ne(x, x), quiet, rounded));
}

Computation in_float32(int lanes) { return Computation(Type::f(32, lanes), false); }

}  // namespace

Expr widen(const Expr& half) {
  Computation c = in_float32(half.type().lanes);
  if (half.type().code == TypeCode::kBFloat) return c.from_pattern(shift_left(bits_of(half), 16));
  return c.finish(widen16(c, half));
}

Expr narrow(Type half_type, const Expr& x) {
  Computation c = in_float32(x.type().lanes);
  const Expr value = c.name("x", x);
  return c.finish(half_type.code == TypeCode::kBFloat ? narrow_bfloat(c, half_type, value)
                                                      : narrow16(c, half_type, value));
}

Expr to_odd_float32(const Expr& x) {
  const int lanes = x.type().lanes;
  const Type f32 = Type::f(32, lanes), u = Type::u(32, lanes);
  Computation c(Type::f(64, lanes), false);
  const Expr value = c.name("x", x);
  const Expr near = c.name("near", cast(f32, value));
  const Expr back = c.name("back", cast(c.type(), near));
  // Towards zero first, then the last bit. Patterns of one sign are ordered like magnitudes.
  const Expr away = c.absolute(back) > c.absolute(value);
  const Expr bits = reinterpret(u, near);
  const Expr down = c.name("down", select(away, bits - int_imm(u, 1), bits));
  const Expr inexact = ne(back, value) && eq(value, value);
  return c.finish(reinterpret(f32, select(inexact, bit_or(down, int_imm(u, 1)), down)));
}

}  // namespace tw::lower::math
