// Elements by indices that are data: take, gather, embedding, one_hot.
#include "tensorwright/ops/gather.h"

#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/exact.h"
#include "te/promote.h"

namespace tw::te::ops {
namespace {

// An index that is data, brought into 0..n as the mode says.
class Inside {
 public:
  Inside(const Site& site, const Tensor& x, size_t axis, const std::string& mode) : n_(x.shape()[axis]), mode_(mode) {
    if (mode != "clip" && mode != "wrap" && mode != "fast")
      site.refuse(ErrorKind::kArgument, "mode must be \"clip\", \"wrap\" or \"fast\", not \"" + mode + "\"");
    if (ir::is_int(n_, 0))
      site.refuse(ErrorKind::kExpr, "axis " + std::to_string(axis) + " of x must not be empty: no index is inside",
                  {describe("x", x)});
  }
  Expr operator()(const Expr& index) const {
    if (index.type().is_uint() && index.type().bits == 64) return of_unsigned(index);
    const Expr i = as_index(index);
    if (mode_ == "wrap") return ir::floormod(i, n_);
    return mode_ == "clip" ? ir::max(ir::min(i, minus(n_, 1)), 0) : i;
  }

 private:
  // Numbers that are too large for an index are brought inside before they become one.
  Expr of_unsigned(const Expr& index) const {
    const auto data = [&](const Expr& e) { return convert(index.type(), e); };
    if (mode_ == "wrap") return as_index(ir::floormod(index, data(n_)));
    return as_index(mode_ == "clip" ? ir::min(index, data(minus(n_, 1))) : index);
  }

  Expr n_;
  std::string mode_;
};

Tensor taken(const Site& site, const Tensor& x, const Tensor& indices, size_t axis, const std::string& mode,
             const std::string& name) {
  const Inside inside(site, x, axis, mode);
  const auto first = static_cast<std::ptrdiff_t>(axis), last = first + static_cast<std::ptrdiff_t>(indices.rank());
  std::vector<Expr> shape = x.shape();
  shape.erase(shape.begin() + first);
  shape.insert(shape.begin() + first, indices.shape().begin(), indices.shape().end());
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = exprs(i);
        const Expr index = indices(std::vector<Expr>(at.begin() + first, at.begin() + last));
        at.erase(at.begin() + first, at.begin() + last);
        at.insert(at.begin() + first, inside(index));
        return x(at);
      },
      name, {}, site.where);
}

}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, TakeOptions options, SourceLine where) {
  const Site site{"take", std::move(where)};
  expect_given(site, "x", x);
  expect_integer(site, "indices", indices);
  return taken(site, x, indices, axis_of(site, x.rank(), options.axis), options.mode, options.name);
}

Tensor embedding(const Tensor& indices, const Tensor& table, EmbeddingOptions options, SourceLine where) {
  const Site site{"embedding", std::move(where)};
  expect_integer(site, "indices", indices);
  site.rank("table", table, 2);
  return taken(site, table, indices, 0, options.mode, options.name);
}

Tensor gather(const Tensor& x, const Tensor& indices, GatherOptions options, SourceLine where) {
  const Site site{"gather", std::move(where)};
  expect_given(site, "x", x);
  expect_integer(site, "indices", indices);
  site.rank("indices", indices, x.rank());
  const size_t axis = axis_of(site, x.rank(), options.axis);
  const Inside inside(site, x, axis, options.mode);
  for (size_t d = 0; d < x.rank(); ++d) {
    const auto most = ir::as_int(x.shape()[d]), n = ir::as_int(indices.shape()[d]);
    const bool fits = most && n ? *n <= *most : same_extent(x.shape()[d], indices.shape()[d]);
    if (d != axis && !fits)
      site.refuse(ErrorKind::kExpr,
                  "indices must have at most the extents of x but on axis " + std::to_string(axis) + ", not " +
                      short_text(indices.shape()[d]) + " on axis " + std::to_string(d),
                  {describe("x", x), describe("indices", indices)});
  }
  return compute(
      indices.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = exprs(i);
        at[axis] = inside(indices(exprs(i)));
        return x(at);
      },
      options.name, {}, site.where);
}

Tensor one_hot(const Tensor& indices, OneHotOptions options, SourceLine where) {
  const Site site{"one_hot", std::move(where)};
  expect_integer(site, "indices", indices);
  if (options.depth < 1)
    site.refuse(ErrorKind::kArgument, "depth must be a positive integer, not " + std::to_string(options.depth));
  const size_t axis = axis_of(site, indices.rank() + 1, options.axis);
  const Type type = site.dtype("dtype", options.dtype);
  if (type.is_storage()) site.refuse(ErrorKind::kDType, "dtype must be one to calculate with, not " + dtype_name(type));
  const auto value = [&](const char* option, Number number) {
    if (const auto held = exact(type, number)) return *held;
    site.refuse(ErrorKind::kArgument,
                std::string(option) + " must be of " + options.dtype + ", not " + std::to_string(number));
  };
  const Expr on = value("on", options.on), off = value("off", options.off);
  std::vector<Expr> shape = indices.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Expr(options.depth));
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = exprs(i);
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
        return te::select(ir::eq(as_index(indices(at)), i[axis]), on, off);
      },
      options.name, {}, site.where);
}

}  // namespace tw::te::ops
