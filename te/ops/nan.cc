// Extremes among which a NaN wins.
#include "te/ops/nan.h"

namespace tw::te::ops {
namespace {

// Whether (i, a) is before (j, b): beyond it, or equal and first. A NaN is beyond all numbers and equal to NaN.
Expr before(bool largest, const Expr& i, const Expr& a, const Expr& j, const Expr& b) {
  const Expr beyond = largest ? a > b : a < b, first = i < j;
  const Expr left = beyond || (first && ir::eq(a, b));
  return a.type().is_float() ? left || (isnan(a) && (first || ir::logical_not(isnan(b)))) : left;
}

}  // namespace

// x > y ? x : y is y where either is NaN: only an x that is one must be held on to.
Expr extreme_or_nan(bool largest, Expr source, std::vector<IterVar> over, Expr where) {
  if (!source.type().is_float()) return largest ? te::max(source, over, where) : te::min(source, over, where);
  Reducer reducer;
  reducer.name = largest ? "max_or_nan" : "min_or_nan";
  reducer.combine = [&](const std::vector<Var>& x, const std::vector<Var>& y) -> std::vector<Expr> {
    const Expr a = x[0], b = y[0];
    return {te::select(isnan(a), a, largest ? ir::max(a, b) : ir::min(a, b))};
  };
  reducer.identity = [&](const std::vector<Type>& types) -> std::vector<Expr> {
    return {ir::identity_of(largest ? ir::ReduceOp::kMax : ir::ReduceOp::kMin, types[0])};
  };
  return reducer({std::move(source)}, over, std::move(where))[0];
}

Reducer first_extreme(bool largest) {
  Reducer reducer;
  reducer.name = largest ? "argmax" : "argmin";
  reducer.combine = [largest](const std::vector<Var>& x, const std::vector<Var>& y) -> std::vector<Expr> {
    const Expr left = before(largest, x[0], x[1], y[0], y[1]);
    return {te::select(left, x[0], y[0]), te::select(left, x[1], y[1])};
  };
  reducer.identity = [largest](const std::vector<Type>& types) -> std::vector<Expr> {
    return {ir::type_max(types[0]), ir::identity_of(largest ? ir::ReduceOp::kMax : ir::ReduceOp::kMin, types[1])};
  };
  return reducer;
}

}  // namespace tw::te::ops
