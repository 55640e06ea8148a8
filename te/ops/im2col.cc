// conv2d_im2col: the windows as rows of a matrix, one product, and the result in its shape.
//
//   columns[(n, y, x), (ky, kx, c)] = x_pad[n, y * stride + ky * dilation, x * stride + kx * dilation, c]
//   out[n, y, x, o]                 = sum over r of columns[(n, y, x), r] * w[r, o]
#include "te/ops/axes.h"
#include "te/ops/conv.h"

namespace tw::te::ops {
namespace {

// The digits of `number` over these extents, outermost first; the first is not bounded.
std::vector<Expr> digits(const Expr& number, const std::vector<Expr>& extents) {
  std::vector<Expr> result(extents.size());
  Expr rest = number;
  for (size_t d = extents.size(); d-- > 1;) {
    result[d] = ir::floormod(rest, extents[d]);
    rest = ir::floordiv(rest, extents[d]);
  }
  result[0] = rest;
  return result;
}

Expr volume(const std::vector<Expr>& extents) {
  Expr product = 1;
  for (const Expr& e : extents) product = times(product, e);
  return product;
}

}  // namespace

Tensor conv2d_im2col(const Tensor& x, const Tensor& w, ConvOptions options, SourceLine where) {
  const Site site{"conv2d_im2col", std::move(where)};
  const Layout layout = layout_named(site, options.layout, 2);
  if (!layout.last()) site.refuse(ErrorKind::kArgument, "layout must be NHWC, not " + options.layout);
  if (options.groups != 1)
    site.refuse(ErrorKind::kArgument, "groups must be 1, not " + std::to_string(options.groups),
                {"ops.conv2d takes groups"});
  site.rank("x", x, 4);
  site.rank("w", w, 4);
  site.same("channels that w reads", w.shape()[2], "channels of x", x.shape()[3], {describe("x", x), describe("w", w)});
  const Epilogue epilogue{site, sums_of(site, "x", x, "w", w, options), options.bias, options.activation, options.name};
  const Expr outputs = w.shape()[3];
  epilogue.check(outputs);
  const Window over = window(site, window_extents(site, w, 0, 2), {options.stride, options.padding, options.dilation});
  const std::vector<Expr> places = over.results(site, spatial_extents(x, layout));
  const std::vector<Expr> rows{x.shape()[0], places[0], places[1]};
  const std::vector<Expr> depth{over.extent[0], over.extent[1], x.shape()[3]};
  const Tensor data = padded(site, x, layout, over, ir::imm(x.dtype(), 0), options.name + "_pad");
  const Tensor columns = compute(
      {volume(rows), volume(depth)},
      [&](const std::vector<Var>& at) {
        const std::vector<Expr> row = digits(at[0], rows), element = digits(at[1], depth);
        return data(row[0], over.place(0, row[1], element[0]), over.place(1, row[2], element[1]), element[2]);
      },
      options.name + "_columns", {"p", "r"}, site.where);
  const Tensor flat = compute(
      {volume(depth), outputs},
      [&](const std::vector<Var>& at) {
        const std::vector<Expr> element = digits(at[0], depth);
        return w(element[0], element[1], element[2], at[1]);
      },
      options.name + "_weights", {"r", "c"}, site.where);
  const IterVar r = reduce_axis(0, volume(depth), "r", site.where);
  const Tensor product_ = compute(
      {volume(rows), outputs},
      [&](const std::vector<Var>& at) { return sum(product(epilogue.dtypes, columns(at[0], r), flat(r, at[1])), {r}); },
      options.name + "_product", {"p", "c"}, site.where);
  const Tensor shaped = compute(
      layout.at(rows[0], places, {outputs}),
      [&](const std::vector<Var>& at) {
        const Expr row = (Expr(at[0]) * rows[1] + at[1]) * rows[2] + at[2];
        return product_(row, at[3]);
      },
      epilogue.name_of_sums(), axis_names(layout), site.where);
  return epilogue.apply(shaped, axis_names(layout), [](const std::vector<Var>& at) { return at[3]; });
}

}  // namespace tw::te::ops
