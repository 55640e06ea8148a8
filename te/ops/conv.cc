// conv1d, conv2d, conv3d: one sum of products over windows and channels, whatever the layout.
//
//   out[n, y, x, o] = sum over ky, kx, c of  x_pad[n, y * stride + ky * dilation, ..., first(o) + c] * w[ky, kx, c, o]
#include "te/ops/conv.h"

#include "te/dtype.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

// A channel as the layout has it: one number, or block and lane; extents likewise.
using Channel = std::vector<Expr>;

// The weights' dimensions: [KH, KW, C, O], [O, C, KH, KW] or [O, C, KH, KW, c, o].
struct Weights {
  const Tensor& w;
  const Layout& layout;

  size_t first_window() const { return layout.last() ? 0 : 2; }
  Channel inputs() const {
    const auto& e = w.shape();
    if (layout.last()) return {e[layout.spatial]};
    return layout.blocked() ? Channel{e[1], e[2 + layout.spatial]} : Channel{e[1]};
  }
  Channel outputs() const {
    const auto& e = w.shape();
    if (layout.last()) return {e[layout.spatial + 1]};
    return layout.blocked() ? Channel{e[0], e[3 + layout.spatial]} : Channel{e[0]};
  }
  Expr operator()(const std::vector<Expr>& window, const Channel& in, const Channel& out) const {
    std::vector<Expr> at;
    if (!layout.last()) at = {out[0], in[0]};
    at.insert(at.end(), window.begin(), window.end());
    if (layout.last()) at.insert(at.end(), {in[0], out[0]});
    if (layout.blocked()) at.insert(at.end(), {in[1], out[1]});
    return w(std::move(at));
  }
};

Channel channels_of(const Tensor& x, const Layout& layout) {
  if (layout.last()) return {x.shape().back()};
  return layout.blocked() ? Channel{x.shape()[1], x.shape().back()} : Channel{x.shape()[1]};
}

// x and w have the same channels in each group, and the groups divide both.
void check_channels(const Site& site, const Tensor& x, const Tensor& w, const Channel& data, const Channel& in,
                    const Channel& out, int64_t groups) {
  const std::vector<std::string> shapes{describe("x", x), describe("w", w)};
  if (groups < 1) site.refuse(ErrorKind::kArgument, "groups must be at least 1, not " + std::to_string(groups));
  const std::string unit = data.size() == 2 ? "blocks of channels" : "channels";
  if (groups > 1) {
    const int64_t inputs = site.constant(unit + " of x", data[0]), outputs = site.constant(unit + " of w", out[0]);
    for (const auto& [what, count] : {std::pair("x", inputs), std::pair("the result", outputs)})
      if (count % groups != 0)
        site.refuse(ErrorKind::kExpr,
                    "groups must divide the " + unit + " of " + what + ", " + std::to_string(count) + ", not " +
                        std::to_string(groups),
                    shapes);
  }
  site.same(unit + " that w reads", in[0], groups == 1 ? unit + " of x" : unit + " of x in a group",
            groups == 1 ? data[0] : quotient(data[0], groups), shapes);
  if (data.size() == 2) site.same("channels in a block of w", in[1], "channels in a block of x", data[1], shapes);
}

// The first channel of the group that a channel of the result belongs to.
Expr first_of_group(const Expr& out, const Expr& outputs, const Expr& inputs, int64_t groups) {
  return ir::floordiv(out, quotient(outputs, groups)) * inputs;
}

}  // namespace

std::vector<Expr> spatial_extents(const Tensor& x, const Layout& layout) {
  const auto begin = x.shape().begin() + static_cast<int64_t>(layout.first_spatial());
  return {begin, begin + static_cast<int64_t>(layout.spatial)};
}

std::vector<int64_t> window_extents(const Site& site, const Tensor& w, size_t first, size_t spatial) {
  std::vector<int64_t> extents;
  for (size_t d = 0; d < spatial; ++d) extents.push_back(site.constant("the window's extent", w.shape()[first + d]));
  return extents;
}

std::vector<IterVar> window_axes(const Site& site, const Window& w) {
  std::vector<IterVar> axes;
  const std::vector<std::string> names = spatial_names(w.rank(), "k");
  for (size_t d = 0; d < w.rank(); ++d) axes.push_back(reduce_axis(0, w.extent[d], names[d], site.where));
  return axes;
}

std::vector<Expr> places(const Window& w, const Layout& layout, const std::vector<Var>& result,
                         const std::vector<IterVar>& elements) {
  std::vector<Expr> at;
  for (size_t d = 0; d < w.rank(); ++d) at.push_back(w.place(d, result[layout.first_spatial() + d], elements[d]));
  return at;
}

Tensor convolve(const Convolution& c, const Tensor& x, const Tensor& w) {
  const Site& site = c.epilogue.site;
  const Layout& layout = c.layout;
  const Weights weights{w, layout};
  const Channel inputs = weights.inputs(), outputs = weights.outputs();
  check_channels(site, x, w, channels_of(x, layout), inputs, outputs, c.groups);
  c.epilogue.check(layout.blocked() ? times(outputs[0], outputs[1]) : outputs[0]);
  const std::vector<Expr> shape = layout.at(x.shape()[0], c.window.results(site, spatial_extents(x, layout)), outputs);
  const Tensor data = padded(site, x, layout, c.window, convert(x.dtype(), c.padding_value), c.epilogue.name + "_pad");
  const std::vector<IterVar> elements = window_axes(site, c.window);
  std::vector<IterVar> in;
  for (size_t d = 0; d < inputs.size(); ++d)
    in.push_back(reduce_axis(0, inputs[d], inputs.size() == 1 ? "kc" : d == 0 ? "kco" : "kci", site.where));
  std::vector<IterVar> reduced = elements;
  reduced.insert(layout.last() ? reduced.end() : reduced.begin(), in.begin(), in.end());
  const auto body = [&](const std::vector<Var>& at) {
    const Channel out = layout.blocked() ? Channel{at[1], at.back()} : Channel{layout.last() ? at.back() : at[1]};
    const Channel read(in.begin(), in.end());
    Channel from = read;
    if (c.groups > 1) from[0] = first_of_group(out[0], outputs[0], inputs[0], c.groups) + from[0];
    const Expr element = data(layout.at(at[0], places(c.window, layout, at, elements), from));
    return sum(product(c.epilogue.dtypes, element, weights({elements.begin(), elements.end()}, read, out)), reduced);
  };
  const std::vector<std::string> names = axis_names(layout);
  const Tensor sums = compute(shape, body, c.epilogue.name_of_sums(), names, site.where);
  return c.epilogue.apply(sums, names, [&](const std::vector<Var>& at) {
    return layout.blocked() ? at[1] * outputs[1] + at.back() : Expr(layout.last() ? at.back() : at[1]);
  });
}

namespace {

Tensor conv(Site site, size_t spatial, const Tensor& x, const Tensor& w, ConvOptions& options) {
  const Layout layout = layout_named(site, options.layout, spatial);
  site.rank("x", x, layout.rank());
  site.rank("w", w, spatial + (layout.blocked() ? 4 : 2));
  const Sums dtypes = sums_of(site, "x", x, "w", w, options);
  const Window over = window(site, window_extents(site, w, Weights{w, layout}.first_window(), spatial),
                             {options.stride, options.padding, options.dilation});
  return convolve(
      {layout, over, options.groups, 0, {std::move(site), dtypes, options.bias, options.activation, options.name}}, x,
      w);
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& w, ConvOptions options, SourceLine where) {
  return conv({"conv1d", std::move(where)}, 1, x, w, options);
}
Tensor conv2d(const Tensor& x, const Tensor& w, ConvOptions options, SourceLine where) {
  return conv({"conv2d", std::move(where)}, 2, x, w, options);
}
Tensor conv3d(const Tensor& x, const Tensor& w, ConvOptions options, SourceLine where) {
  return conv({"conv3d", std::move(where)}, 3, x, w, options);
}

}  // namespace tw::te::ops
