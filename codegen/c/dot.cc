#include "codegen/c/dot.h"

#include <functional>

namespace tw::codegen {

using namespace ir;

namespace {

Expr bits_of(const Expr& x) { return reinterpret(Type::i(x.type().bits), x); }

Expr let_in(const char* name, const Expr& value, const std::function<Expr(Expr)>& body) {
  const Var var(name, value.type());
  return let(var, value, body(var));
}

// A zero of the same sign for a denormal number.
Expr flushed(const Expr& value) {
  return let_in("x", value, [](const Expr& x) {
    const Type bits = Type::i(32);
    const Expr exponent = binary(BinOp::kBitAnd, bits_of(x), int_imm(bits, 0x7f800000));
    const Expr sign = binary(BinOp::kBitAnd, bits_of(x), int_imm(bits, INT32_MIN));
    return select(eq(exponent, int_imm(bits, 0)), reinterpret(Type::f(32), sign), x);
  });
}

Expr wide(const Expr& bfloat) { return cast(Type::f(64), flushed(cast(Type::f(32), bfloat))); }

// c + a*b, rounded once. The product is exact in float64, and so is what the sum leaves over; a sum that is not exact
// is given an odd last bit, so that rounding it to float32 rounds once.
Expr add_product(const Expr& c, const Expr& a, const Expr& b) {
  const Type f64 = Type::f(64), i64 = Type::i(64);
  const Expr none = float_imm(f64, 0), zero = int_imm(i64, 0), one = int_imm(i64, 1);
  const auto from_sum = [&](const Expr& before, const Expr& product, const Expr& sum) {
    return let_in("rest", sum - before, [&](const Expr& rest) {
      return let_in("error", (before - (sum - rest)) + (product - rest), [&](const Expr& error) {
        const Expr bits = bits_of(sum);
        const Expr outwards = binary(BinOp::kBitXor, bits, bits_of(error)) >= zero;
        const Expr odd = reinterpret(f64, bits + select(outwards, one, int_imm(i64, -1)));
        const Expr inexact = error < none || error > none;
        const Expr even = eq(binary(BinOp::kBitAnd, bits, one), zero);
        return flushed(cast(Type::f(32), select(inexact && even, odd, sum)));
      });
    });
  };
  return let_in("before", cast(f64, c), [&](const Expr& before) {
    return let_in("product", wide(a) * wide(b), [&](const Expr& product) {
      return let_in("sum", before + product, [&](const Expr& sum) { return from_sum(before, product, sum); });
    });
  });
}

}  // namespace

Expr dot_lane(Fn fn, Expr c, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (fn == Fn::kDotBF16) return add_product(add_product(flushed(c), a[1], b[1]), a[0], b[0]);
  const Type type = Type::i(32);
  const Expr lowest = int_imm(type, INT16_MIN), highest = int_imm(type, INT16_MAX);
  const auto product = [&](size_t j) { return cast(type, a[j]) * cast(type, b[j]); };
  for (size_t j = 0; j < a.size(); j += 2) {
    if (fn == Fn::kDotU8I8Sat)
      c = c + ir::max(ir::min(product(j) + product(j + 1), highest), lowest);
    else
      c = c + product(j) + product(j + 1);
  }
  return c;
}

}  // namespace tw::codegen
