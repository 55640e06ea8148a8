// Elementwise functions.
#include "te/promote.h"
#include "tensorwright/te.h"

namespace tw::te {

using ir::Fn;

Expr max(Expr a, Expr b) { return arith(ir::BinOp::kMax, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return arith(ir::BinOp::kMin, std::move(a), std::move(b)); }
static Expr unary(Fn fn, Expr e) { return ir::call(fn, {as_data(std::move(e))}); }
Expr exp(Expr e) { return unary(Fn::kExp, e); }
Expr log(Expr e) { return unary(Fn::kLog, e); }
Expr tanh(Expr e) { return unary(Fn::kTanh, e); }
Expr sigmoid(Expr e) { return unary(Fn::kSigmoid, e); }
Expr erf(Expr e) { return unary(Fn::kErf, e); }
Expr sqrt(Expr e) { return unary(Fn::kSqrt, e); }
Expr rsqrt(Expr e) { return unary(Fn::kRsqrt, e); }
Expr abs(Expr e) { return unary(Fn::kAbs, e); }
Expr floor(Expr e) { return unary(Fn::kFloor, e); }
Expr ceil(Expr e) { return unary(Fn::kCeil, e); }
Expr round(Expr e) { return unary(Fn::kRound, e); }
Expr trunc(Expr e) { return unary(Fn::kTrunc, e); }
Expr power(Expr a, Expr b) {
  promote(a, b);
  return ir::call(Fn::kPow, {a, b});
}
Expr if_then_else(Expr c, Expr y, Expr n) {
  promote(y, n);
  return ir::select(c, y, n);
}
Expr select(Expr c, Expr y, Expr n) { return if_then_else(c, y, n); }
Expr all(std::vector<Expr> v) {
  Expr out = v.at(0);
  for (size_t i = 1; i < v.size(); ++i) out = ir::binary(ir::BinOp::kAnd, out, v[i]);
  return out;
}
Expr any(std::vector<Expr> v) {
  Expr out = v.at(0);
  for (size_t i = 1; i < v.size(); ++i) out = ir::binary(ir::BinOp::kOr, out, v[i]);
  return out;
}
Expr constant(double v, std::string_view dtype) { return ir::imm(*ir::parse_type(dtype), v); }
Expr min_value(std::string_view dtype) { return ir::type_min(*ir::parse_type(dtype)); }
Expr max_value(std::string_view dtype) { return ir::type_max(*ir::parse_type(dtype)); }

}  // namespace tw::te
