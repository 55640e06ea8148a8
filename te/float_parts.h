// What functions of floats are made of: promotion, float64, the bits of a float.
#pragma once

#include <string>

#include "te/dtype.h"
#include "tensorwright/te.h"

namespace tw::te {

void expect_float(const std::string& function, const Expr&);
void promote_floats(const std::string& function, Expr& a, Expr& b);

// f of float64 values, for any float type.
template <class F>
Expr in_float64(F f, Expr x) {
  const Type type = x.type();
  return convert(type, f(convert(Type::f(64), std::move(x))));
}
template <class F>
Expr in_float64(F f, Expr x, Expr y) {
  const Type type = x.type();
  return convert(type, f(convert(Type::f(64), std::move(x)), convert(Type::f(64), std::move(y))));
}

// The bits of a float as an integer, whose sign is the float's.
Expr pattern(const Expr& x);
Expr bit_and(const Expr& a, const Expr& b);
Expr bit_or(const Expr& a, const Expr& b);
// 2^n of float64, -1022 <= n <= 1023, n of int64.
Expr power_of_two(const Expr& n);
inline Expr real(double v) { return ir::float_imm(Type::f(64), v); }
inline Expr whole(int64_t v) { return ir::int_imm(Type::i(64), v); }
Expr with_sign_of(const Expr& size, const Expr& sign);  // of one type

}  // namespace tw::te
