// quantized_dense and quantized_conv2d: sums of products of bytes, then what the zero points, the bias and the scales
// make of them.
//
//   acc[..., o] = sum of x * (w - zw[o])  -  zx * (sum of (w - zw[o]))  +  bias[o]
//
// The first sum is of x as it is, and of w as it is where zw is 0.
#include "te/dtype.h"
#include "te/ops/activation.h"
#include "te/ops/axes.h"
#include "te/ops/conv.h"
#include "te/ops/matmul.h"
#include "te/ops/quantize.h"

namespace tw::te::ops {
namespace {

const Type kSum = Type::i(32), kReal = Type::f(32);

// Where the channel of the result stands among the weights' dimensions, and among those of the result.
struct Channels {
  size_t of_weights, of_result;
};

struct Quantized {
  Site site;
  Requantize options;
  Channels channel;
  std::string name;
  Type out;

  // Everything but the shapes, which the product checks.
  void check(const Tensor& x, const Tensor& w) const {
    for (const auto& [what, t] : {std::pair<const char*, const Tensor&>("x", x), {"w", w}})
      if (t.dtype() != Type::i(8) && t.dtype() != Type::u(8))
        site.refuse(ErrorKind::kDType, std::string(what) + " must be of int8 or uint8, not " + dtype_name(t.dtype()),
                    {describe(what, t)});
    const Expr channels = w.shape()[channel.of_weights];
    check_scale(site, "x_scale", options.x_scale, 1);
    check_scale(site, "w_scale", options.w_scale, channels);
    check_scale(site, "out_scale", options.out_scale, 1);
    check_zero_point(site, "x_zero_point", options.x_zero_point, x.dtype(), 1);
    check_zero_point(site, "w_zero_point", options.w_zero_point, w.dtype(), channels);
    if (!out.is_float()) check_zero_point(site, "out_zero_point", options.out_zero_point, out, 1);
    if (options.bias) {
      site.rank("bias", options.bias, 1);
      expect_dtype(site, "bias", options.bias, kSum);
      site.same("elements of bias", options.bias.shape()[0], "channels of the result", channels,
                {describe("bias", options.bias)});
    }
    if (out == kSum && !options.activation.empty() && options.activation != "none")
      site.refuse(ErrorKind::kArgument,
                  "activation must be none where the result is int32 sums, not " + options.activation);
  }

  // w - w_zero_point, or w itself.
  Tensor weights(const Tensor& w) const {
    if (is_zero(options.w_zero_point)) return w;
    return compute(
        w.shape(),
        [&](const std::vector<Var>& at) {
          return convert(Type::i(16),
                         convert(kSum, w(exprs(at))) - zero_point_at(options.w_zero_point, at[channel.of_weights]));
        },
        name + "_weights", {}, site.where);
  }

  bool corrects() const { return options.x_zero_point != 0; }
  bool plain() const { return out == kSum && !corrects() && !options.bias; }

  // The sums of each channel's weights.
  Tensor weight_sums(const Tensor& w) const {
    std::vector<size_t> others;
    for (size_t d = 0; d < w.rank(); ++d)
      if (d != channel.of_weights) others.push_back(d);
    const Reduced over(w, others, false);
    return compute(
        over.shape(), [&](const std::vector<Var>& at) { return sum(convert(kSum, w(over.point(at))), over.over()); },
        name + "_weight_sum", {"c"}, site.where);
  }

  Expr result(Expr acc, const Expr& c) const {
    if (options.bias) acc = acc + options.bias(c);
    if (out == kSum) return acc;
    Expr real = convert(kReal, acc) * scale_at(options.w_scale, options.x_scale, c);
    if (!options.activation.empty() && options.activation != "none") real = activate(site, options.activation, real);
    if (out.is_float()) return convert(out, real);
    return rounded(out, real, ir::float_imm(kReal, options.out_scale), ir::int_imm(kSum, options.out_zero_point));
  }

  Tensor finish(const Tensor& sums, const Tensor& w, const std::vector<std::string>& axes) const {
    if (plain()) return sums;
    const Tensor columns = corrects() ? weight_sums(w) : Tensor();
    return compute(
        sums.shape(),
        [&](const std::vector<Var>& at) {
          const Expr c = at[channel.of_result];
          Expr acc = sums(exprs(at));
          if (columns) acc = acc - columns(c) * ir::int_imm(kSum, options.x_zero_point);
          return result(acc, c);
        },
        name, axes, site.where);
  }

  Epilogue raw_sums() const { return {site, {kSum, kSum}, {}, {}, plain() ? name : name + "_sum"}; }
};

Type out_dtype(const Site& site, const std::string& name) {
  const Type type = site.dtype("out_dtype", name);
  return type.is_float() ? type : quantized_dtype(site, "out_dtype", name);
}

std::vector<std::string> names_of(const Tensor& t) {
  std::vector<std::string> names;
  for (const IterVar& axis : t.op()->compute()->axis) names.push_back(axis.var.name());
  return names;
}

}  // namespace

Tensor quantized_dense(const Tensor& x, const Tensor& w, QuantizedDenseOptions options, SourceLine where) {
  const Site site{"quantized_dense", std::move(where)};
  site.rank_at_least("x", x, 2);
  site.rank("w", w, 2);
  const Channels channels{options.transpose_w ? size_t{0} : 1, x.rank() - 1};
  const Quantized q{site, options, channels, options.name, out_dtype(site, options.out_dtype)};
  q.check(x, w);
  const Tensor weights = q.weights(w);
  const Tensor sums = multiply({x, weights, false, options.transpose_w}, "x", "w", q.raw_sums());
  return q.finish(sums, weights, names_of(sums));
}

Tensor quantized_conv2d(const Tensor& x, const Tensor& w, QuantizedConvOptions options, SourceLine where) {
  const Site site{"quantized_conv2d", std::move(where)};
  const Layout layout = layout_named(site, options.layout, 2);
  if (layout.blocked()) site.refuse(ErrorKind::kArgument, "layout must be NHWC or NCHW, not " + options.layout);
  site.rank("x", x, 4);
  site.rank("w", w, 4);
  const Channels channels = layout.last() ? Channels{3, 3} : Channels{0, 1};
  const Quantized q{site, options, channels, options.name, out_dtype(site, options.out_dtype)};
  q.check(x, w);
  const Tensor weights = q.weights(w);
  const Window over = window(site, window_extents(site, w, layout.last() ? 0 : 2, 2),
                             {options.stride, options.padding, options.dilation});
  const Tensor sums = convolve({layout, over, options.groups, options.x_zero_point, q.raw_sums()}, x, weights);
  return q.finish(sums, weights, names_of(sums));
}

}  // namespace tw::te::ops
