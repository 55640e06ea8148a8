// argmax and argmin: the place of the largest or smallest along an axis. A reduction of pairs (place, value); among
// equal values, and among NaNs, which win, the first place does, so the order of the points does not matter.
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "tensorwright/ops/reduction.h"

namespace tw::te::ops {
namespace {

// Whether (i, a) is before (j, b): beyond it, or equal and first. A NaN is beyond all numbers and equal to NaN.
Expr before(bool largest, const Expr& i, const Expr& a, const Expr& j, const Expr& b) {
  const Expr beyond = largest ? a > b : a < b, first = i < j;
  const Expr left = beyond || (first && ir::eq(a, b));
  return a.type().is_float() ? left || (isnan(a) && (first || ir::logical_not(isnan(b)))) : left;
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

Tensor place(const Site& site, const Tensor& x, const ArgOptions& options, bool largest) {
  expect_number(site, "x", x);
  const Type type = site.dtype("dtype", options.dtype);
  if (type != Type::i(32) && type != Type::i(64))
    site.refuse(ErrorKind::kDType, "dtype must be int32 or int64, not " + dtype_name(type));
  const size_t axis = axis_of(site, x.rank(), options.axis);
  if (ir::is_int(x.shape()[axis], 0))
    site.refuse(ErrorKind::kExpr, "axis must not be empty: there is no place in it", {describe("x", x)});
  const Reduced line(x, {axis}, options.keepdims);
  const std::string name = options.name.empty() ? site.op : options.name;
  const std::vector<Tensor> both = compute_tuple(
      line.shape(),
      [&](const std::vector<Var>& i) {
        return first_extreme(largest)({ir::cast(type, line.over()[0].var), x(line.point(i))}, line.over());
      },
      name + "_pair", {}, site.where);
  return compute(line.shape(), [&](const std::vector<Var>& i) { return both[0](exprs(i)); }, name, {}, site.where);
}

}  // namespace

Tensor argmax(const Tensor& x, ArgOptions options, SourceLine where) {
  return place({"argmax", std::move(where)}, x, options, true);
}

Tensor argmin(const Tensor& x, ArgOptions options, SourceLine where) {
  return place({"argmin", std::move(where)}, x, options, false);
}

}  // namespace tw::te::ops
