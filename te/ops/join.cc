// Tensors side by side: concat and stack.
//
//   concat[i, j] = i < 3 ? a[i, j] : i < 8 ? b[i - 3, j] : c[i - 8, j]
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "tensorwright/ops/shape.h"

namespace tw::te::ops {
namespace {

std::string numbered(size_t i) { return "xs[" + std::to_string(i) + "]"; }

// All have the rank, the dtype and, but for axis `joined`, the shape of the first.
void expect_alike(const Site& site, const std::vector<Tensor>& xs, std::optional<size_t> joined) {
  for (size_t i = 1; i < xs.size(); ++i) {
    expect_dtype(site, numbered(i), xs[i], xs[0].dtype());
    bool alike = xs[i].rank() == xs[0].rank();
    for (size_t d = 0; alike && d < xs[0].rank(); ++d)
      alike = d == joined || same_extent(xs[0].shape()[d], xs[i].shape()[d]);
    if (!alike)
      site.refuse(ErrorKind::kExpr,
                  numbered(i) + " must have the shape of xs[0]" +
                      (joined ? " but for axis " + std::to_string(*joined) : "") + ", not " + shape_text(xs[i].shape()),
                  {describe("xs[0]", xs[0]), describe(numbered(i), xs[i])});
  }
}

void expect_some(const Site& site, const std::vector<Tensor>& xs) {
  if (xs.empty()) site.refuse(ErrorKind::kArgument, "xs must hold at least one tensor");
  expect_given(site, "xs[0]", xs[0]);
}

}  // namespace

Tensor concat(const std::vector<Tensor>& xs, JoinOptions options, SourceLine where) {
  const Site site{"concat", std::move(where)};
  expect_some(site, xs);
  const size_t axis = axis_of(site, xs[0].rank(), options.axis);
  expect_alike(site, xs, axis);
  std::vector<Expr> shape = xs[0].shape(), begins = {Expr(0)};
  for (const Tensor& x : xs) begins.push_back(plus(begins.back(), x.shape()[axis]));
  shape[axis] = begins.back();
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        Expr value;
        for (size_t part = xs.size(); part-- > 0;) {
          std::vector<Expr> at = exprs(i);
          if (part > 0) at[axis] = at[axis] - begins[part];
          const Expr inside = Expr(i[axis]) < begins[part + 1];
          value = value ? if_then_else(inside, xs[part](at), value) : xs[part](at);
        }
        return value;
      },
      options.name.empty() ? site.op : options.name, {}, site.where);
}

Tensor stack(const std::vector<Tensor>& xs, JoinOptions options, SourceLine where) {
  const Site site{"stack", std::move(where)};
  expect_some(site, xs);
  const size_t axis = axis_of(site, xs[0].rank() + 1, options.axis);
  expect_alike(site, xs, {});
  std::vector<Expr> shape = xs[0].shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), Expr(static_cast<int64_t>(xs.size())));
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = exprs(i);
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
        Expr value = xs.back()(at);
        for (size_t part = xs.size() - 1; part-- > 0;)
          value = if_then_else(ir::eq(i[axis], static_cast<int64_t>(part)), xs[part](at), value);
        return value;
      },
      options.name.empty() ? site.op : options.name, {}, site.where);
}

}  // namespace tw::te::ops
