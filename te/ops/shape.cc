// Other views of the elements of one tensor: transpose, reshape, broadcast_to, where.
#include "tensorwright/ops/shape.h"

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/broadcast.h"

namespace tw::te::ops {
namespace {

constexpr int64_t kRest = -1;  // the extent of a reshape that is what is left

Expr product_of(const std::vector<Expr>& shape) {
  Expr n = 1;
  for (const Expr& e : shape) n = times(n, e);
  return n;
}

// The shape that is asked for, with what is left in the place of -1.
std::vector<Expr> whole_shape(const Site& site, const Tensor& x, const std::vector<int64_t>& asked) {
  std::vector<Expr> shape;
  Expr known = 1;
  int rests = 0;
  for (const int64_t extent : asked) {
    if (extent < kRest)
      site.refuse(ErrorKind::kArgument, "shape must be of extents from 0 on, or one -1, not " + std::to_string(extent));
    rests += extent == kRest ? 1 : 0;
    if (extent != kRest) known = times(known, extent);
    shape.emplace_back(extent);
  }
  const Expr all = product_of(x.shape());
  const Expr rest = rests == 0 || ir::is_int(known, 0) ? Expr(1) : quotient(all, known);
  if (rests > 1 || !same_extent(all, times(known, rest)) || (rests == 1 && ir::is_int(known, 0)))
    site.refuse(ErrorKind::kExpr,
                "shape must hold the " + short_text(all) + " elements of x, not be " + shape_text(shape),
                {describe("x", x), "one extent may be -1: what the others leave"});
  for (Expr& extent : shape)
    if (ir::is_int(extent, kRest)) extent = rest;
  return shape;
}

// The place of a point in row-major order, taken apart again by the extents of the other shape. Leading dimensions
// that both have are kept out of it.
std::vector<Expr> same_place(const std::vector<Expr>& point, const std::vector<Expr>& from,
                             const std::vector<Expr>& to) {
  size_t alike = 0;
  while (alike < from.size() && alike < to.size() && same_extent(from[alike], to[alike])) ++alike;
  Expr place = 0;
  for (size_t d = alike; d < from.size(); ++d) place = place * from[d] + point[d];
  std::vector<Expr> at(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(alike));
  at.resize(to.size());
  for (size_t d = to.size(); d-- > alike;) {
    const bool outermost = d == alike;  // nothing is left above it
    at[d] = ir::is_int(to[d], 1) ? Expr(0) : outermost ? place : ir::floormod(place, to[d]);
    if (!outermost) place = ir::floordiv(place, to[d]);
  }
  return at;
}

}  // namespace

Tensor transpose(const Tensor& x, TransposeOptions options, SourceLine where) {
  const Site site{"transpose", std::move(where)};
  expect_given(site, "x", x);
  std::vector<size_t> axes;
  std::vector<bool> seen(x.rank());
  for (const int64_t axis : options.axes) {
    axes.push_back(axis_of(site, x.rank(), axis, "axes"));
    if (seen[axes.back()])
      site.refuse(ErrorKind::kExpr, "axes must name each axis once, not " + std::to_string(axes.back()) + " twice");
    seen[axes.back()] = true;
  }
  for (size_t d = x.rank(); axes.size() < x.rank() && options.axes.empty();) axes.push_back(--d);
  if (axes.size() != x.rank())
    site.refuse(ErrorKind::kExpr,
                "axes must name all " + std::to_string(x.rank()) + " axes of x, not " + std::to_string(axes.size()),
                {describe("x", x)});
  std::vector<Expr> shape;
  for (const size_t axis : axes) shape.push_back(x.shape()[axis]);
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(axes.size());
        for (size_t d = 0; d < axes.size(); ++d) at[axes[d]] = i[d];
        return x(at);
      },
      options.name, {}, site.where);
}

Tensor reshape(const Tensor& x, ReshapeOptions options, SourceLine where) {
  const Site site{"reshape", std::move(where)};
  expect_given(site, "x", x);
  const std::vector<Expr> shape = whole_shape(site, x, options.shape);
  return compute(
      shape, [&](const std::vector<Var>& i) { return x(same_place(exprs(i), shape, x.shape())); }, options.name, {},
      site.where);
}

Tensor broadcast_to(const Tensor& x, BroadcastOptions options, SourceLine where) {
  const Site site{"broadcast_to", std::move(where)};
  expect_given(site, "x", x);
  std::vector<Expr> shape;
  for (const int64_t extent : options.shape) {
    if (extent < 0)
      site.refuse(ErrorKind::kArgument, "shape must be of extents from 0 on, not " + std::to_string(extent));
    shape.emplace_back(extent);
  }
  bool fits = shape.size() >= x.rank();
  for (size_t d = 0; fits && d < x.rank(); ++d)
    fits = ir::is_int(x.shape()[d], 1) || same_extent(x.shape()[d], shape[shape.size() - x.rank() + d]);
  if (!fits)
    site.refuse(ErrorKind::kExpr,
                "x must agree with shape or have 1 where it is repeated, not be " + shape_text(x.shape()) + " for " +
                    shape_text(shape),
                {describe("x", x)});
  return compute(
      shape, [&](const std::vector<Var>& i) { return x(broadcast_at(x, exprs(i))); }, options.name, {}, site.where);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, WhereOptions options, SourceLine line) {
  const Site site{"where", std::move(line)};
  expect_dtype(site, "condition", condition, Type::boolean());
  expect_given(site, "a", a);
  expect_dtype(site, "b", b, a.dtype());
  const std::vector<Expr> shape = broadcast_shape(site, {{"condition", condition}, {"a", a}, {"b", b}});
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        const auto at = [&](const Tensor& t) { return t(broadcast_at(t, exprs(i))); };
        return if_then_else(at(condition), at(a), at(b));
      },
      options.name, {}, site.where);
}

}  // namespace tw::te::ops
