// argmax and argmin: the place of the largest or smallest along an axis, by a reduction of pairs (place, value).
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/nan.h"
#include "tensorwright/ops/reduction.h"

namespace tw::te::ops {
namespace {

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
