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

// x + y as a float64 whose last bit is odd where the sum is not exact, so that what is rounded from it is rounded once.
// What the sum leaves over is a float64.
Expr sum_to_odd(const Expr& x, const Expr& y) {
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
        return select(inexact && even, odd, sum);
      });
    });
  };
  return let_in("before", x, [&](const Expr& before) {
    return let_in("product", y, [&](const Expr& product) {
      return let_in("sum", before + product, [&](const Expr& sum) { return from_sum(before, product, sum); });
    });
  });
}

// c + a*b, rounded once: a zero of its sign where 24 bits of it would be less than the least normal number. The product
// is exact in float64.
Expr add_product(const Expr& c, const Expr& a, const Expr& b) {
  const Type f64 = Type::f(64), i32 = Type::i(32);
  const Expr limit = float_imm(f64, 0x1p-126 - 0x1p-151);
  return let_in("exact", sum_to_odd(cast(f64, c), wide(a) * wide(b)), [&](const Expr& exact) {
    const Expr rounded = cast(Type::f(32), exact);
    const Expr sign = binary(BinOp::kBitAnd, bits_of(rounded), int_imm(i32, INT32_MIN));
    const Expr small = exact < limit && exact > float_imm(f64, -(0x1p-126 - 0x1p-151));
    return select(small, reinterpret(Type::f(32), sign), rounded);
  });
}

// A float64 as a float32: towards zero, with an odd last bit where that is not exact; none is denormal.
Expr to_odd(const Expr& value) {
  const Type i64 = Type::i(64);
  constexpr int64_t kDropped = (int64_t{1} << 29) - 1, kSmallest = int64_t{1023 - 126} << 52;
  return let_in("x", value, [&](const Expr& x) {
    const auto masked = [&](int64_t mask) { return binary(BinOp::kBitAnd, bits_of(x), int_imm(i64, mask)); };
    const Expr exact = eq(masked(kDropped), int_imm(i64, 0));
    const Expr kept =
        binary(BinOp::kBitOr, masked(~kDropped), select(exact, int_imm(i64, 0), int_imm(i64, kDropped + 1)));
    const Expr small = masked(INT64_MAX) < int_imm(i64, kSmallest);
    return cast(Type::f(32), reinterpret(Type::f(64), select(small, masked(INT64_MIN), kept)));
  });
}

Expr add_pair_to_odd(const Expr& c, const std::vector<Expr>& a, const std::vector<Expr>& b, size_t at) {
  const Type f64 = Type::f(64);
  const auto product = [&](size_t j) { return cast(f64, to_odd(wide(a[j]) * wide(b[j]))); };
  const Expr both = to_odd(sum_to_odd(product(at), product(at + 1)));
  return to_odd(sum_to_odd(cast(f64, flushed(c)), cast(f64, both)));
}

}  // namespace

Expr dot_lane(Fn fn, Expr c, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (fn == Fn::kDotBF16) return add_product(add_product(flushed(c), a[1], b[1]), a[0], b[0]);
  if (fn == Fn::kDotBF16Odd || fn == Fn::kMatBF16Odd) {
    for (size_t j = 0; j < a.size(); j += 2) c = add_pair_to_odd(c, a, b, j);
    return c;
  }
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
