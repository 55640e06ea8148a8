// Building blocks of the expansions.

#include "src/lower/math/computation.h"

#include <limits>

namespace tw::lower::math {

using namespace ir;

Expr Computation::name(const char* name, Expr value) {
  Var var(name, value.type());
  names_.emplace_back(var, std::move(value));
  return var;
}

Expr Computation::finish(Expr result) const {
  for (size_t n = names_.size(); n-- > 0;) result = let(names_[n].first, names_[n].second, result);
  return result;
}

Expr Computation::infinity() const { return value(std::numeric_limits<double>::infinity()); }
Expr Computation::nan() const { return value(std::numeric_limits<double>::quiet_NaN()); }

Expr Computation::fma(const Expr& a, const Expr& b, const Expr& c) const {
  return fused_ ? call(Fn::kFma, {a, b, c}) : a * b + c;
}

Expr Computation::polynomial(const Expr& x, std::initializer_list<double> coefficients) const {
  Expr sum;
  for (double c : coefficients) sum = sum ? fma(sum, x, value(c)) : value(c);
  return sum;
}

Expr Computation::with_sign_of(const Expr& magnitude, const Expr& sign) const {
  const Expr sign_bit =
      integer(type_.bits == 64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min());
  return from_pattern(bit_or(pattern(magnitude), bit_and(pattern(sign), sign_bit)));
}

Expr bit_and(const Expr& a, const Expr& b) { return binary(BinOp::kBitAnd, a, b); }
Expr bit_or(const Expr& a, const Expr& b) { return binary(BinOp::kBitOr, a, b); }
Expr shift_left(const Expr& a, int by) { return binary(BinOp::kShl, a, int_imm(a.type(), by)); }
Expr shift_right(const Expr& a, int by) { return binary(BinOp::kShr, a, int_imm(a.type(), by)); }

}  // namespace tw::lower::math
