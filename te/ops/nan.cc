// Extremes among which a NaN wins.
#include "te/ops/nan.h"

namespace tw::te::ops {

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

}  // namespace tw::te::ops
