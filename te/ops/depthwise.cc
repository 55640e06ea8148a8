// depthwise_conv2d:
//
//   out[n, y, x, c * M + m] = sum over ky, kx of  x_pad[n, y * stride + ky * dilation, ..., c] * w[ky, kx, c, m]
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/conv.h"

namespace tw::te::ops {
namespace {

// How many channels of the result each channel of x gives.
Expr multiplier(const Site& site, const Tensor& x, const Tensor& w, const Layout& layout) {
  const std::vector<std::string> shapes{describe("x", x), describe("w", w)};
  if (layout.last()) {
    site.same("channels of w", w.shape()[2], "channels of x", x.shape()[3], shapes);
    return w.shape()[3];
  }
  if (!ir::is_int(w.shape()[1], 1))
    site.refuse(ErrorKind::kExpr, "a channel of the result must read 1 channel, not " + short_text(w.shape()[1]),
                shapes);
  const int64_t inputs = site.constant("channels of x", x.shape()[1]);
  const int64_t outputs = site.constant("channels of w", w.shape()[0]);
  if (inputs == 0 || outputs % inputs != 0)
    site.refuse(ErrorKind::kExpr,
                "channels of w must be a multiple of the channels of x, " + std::to_string(inputs) + ", not " +
                    std::to_string(outputs),
                shapes);
  return outputs / inputs;
}

// The weight of an element of the window for a channel of the result, which reads the channel `in`.
Expr weight(const Tensor& w, const Layout& layout, const std::vector<IterVar>& window, const Expr& in, const Expr& out,
            const Expr& multiplier) {
  if (!layout.last()) return w(out, 0, window[0], window[1]);
  return w(window[0], window[1], in, ir::is_int(multiplier, 1) ? Expr(0) : ir::floormod(out, multiplier));
}

}  // namespace

Tensor depthwise_conv2d(const Tensor& x, const Tensor& w, ConvOptions options, SourceLine where) {
  const Site site{"depthwise_conv2d", std::move(where)};
  const Layout layout = layout_named(site, options.layout, 2);
  if (layout.blocked()) site.refuse(ErrorKind::kArgument, "layout must be NHWC or NCHW, not " + options.layout);
  if (options.groups != 1)
    site.refuse(ErrorKind::kArgument, "groups must stay 1, not " + std::to_string(options.groups),
                {"each channel is a group of its own"});
  site.rank("x", x, 4);
  site.rank("w", w, 4);
  const Sums dtypes = sums_of(site, "x", x, "w", w, options);
  const Expr multiple = multiplier(site, x, w, layout);
  const size_t channel = layout.last() ? 3 : 1;
  const Expr channels = times(x.shape()[channel], multiple);
  const Epilogue epilogue{site, dtypes, options.bias, options.activation, options.name};
  epilogue.check(channels);
  const Window over = window(site, window_extents(site, w, layout.last() ? 0 : 2, 2),
                             {options.stride, options.padding, options.dilation});
  const Tensor data = padded(site, x, layout, over, ir::imm(x.dtype(), 0), options.name + "_pad");
  const std::vector<IterVar> elements = window_axes(site, over);
  const auto body = [&](const std::vector<Var>& at) {
    const Var& out = at[channel];
    const Expr in = ir::is_int(multiple, 1) ? Expr(out) : ir::floordiv(out, multiple);
    return sum(product(dtypes, data(layout.at(at[0], places(over, layout, at, elements), {in})),
                       weight(w, layout, elements, in, out, multiple)),
               elements);
  };
  const std::vector<Expr> shape = layout.at(x.shape()[0], over.results(site, spatial_extents(x, layout)), {channels});
  const Tensor result = compute(shape, body, epilogue.name_of_sums(), axis_names(layout), site.where);
  return epilogue.apply(result, axis_names(layout), [&](const std::vector<Var>& at) { return at[channel]; });
}

}  // namespace tw::te::ops
