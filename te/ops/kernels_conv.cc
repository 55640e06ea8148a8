// Convolutions by name.
#include "te/ops/kernels.h"
#include "tensorwright/ops/conv.h"
#include "tensorwright/ops/quantized.h"

namespace tw::te::ops {
namespace {

// clang-format off: a table
const Parameter kN{"N", "batch", "1"}, kD{"D", "depth of the data"}, kH{"H", "height of the data"}, kW{"W", "width of the data"},
    kCi{"CI", "channels of the data"}, kCo{"CO", "channels of the result"},
    kKd{"KD", "depth of the window", "3"}, kKh{"KH", "height of the window", "3"}, kKw{"KW", "width of the window", "3"},
    kStride{"stride", "one number, or one a dimension, as 2x1", "1"}, kDilation{"dilation", "likewise", "1"},
    kPadding{"padding", "likewise, or all before and all behind, as 1x1x0x0", "0"}, kGroups{"groups", "that divide the channels", "1"},
    kMultiplier{"M", "channels of the result from each channel", "1"},
    kLayout{"layout", "NHWC or NCHW (NWC, NDHWC, ...)", "default"}, kDtype{"dtype", "of data and weights", "float32"},
    kOut{"out_dtype", "of the result; sum: what is added up in", "sum"}, kTF32{"tf32", "factors of float32 are rounded to 11 bits", "false"}, kParam{"param", "weights may be packed ahead", "true"},
    kBias{"bias", "adds a bias to each channel", "false"}, kActivation{"activation", "relu, gelu, ...", "none"};
// clang-format on

using Operator = Tensor (*)(const Tensor&, const Tensor&, ConvOptions, SourceLine);

std::string given(const Values& v, const char* name, const char* standard) {
  return v.text(name) == standard ? "" : v.text(name);
}

ConvOptions options(const Values& v) {
  return {.stride = v.list("stride"),
          .padding = v.list("padding"),
          .dilation = v.list("dilation"),
          .layout = given(v, "layout", "default"),
          .activation = v.text("activation"),
          .out_dtype = given(v, "out_dtype", "sum"),
          .tf32 = v.flag("tf32")};
}

// X, W, a bias where one is asked for, and the result.
template <class Options>
std::vector<Tensor> arguments(const Values& v, std::vector<Expr> x_shape, std::vector<Expr> w_shape, int64_t channels,
                              Options options, Tensor (*f)(const Tensor&, const Tensor&, Options, SourceLine)) {
  const Tensor x = placeholder(std::move(x_shape), v.text("dtype"), "X");
  const Tensor w = placeholder(std::move(w_shape), v.text("dtype"), "W", Placeholder{.param = v.flag("param")});
  std::vector<Tensor> args{x, w};
  if (v.flag("bias")) {
    options.bias = placeholder({channels}, x.dtype().is_float() ? "float32" : "int32", "bias");
    args.push_back(options.bias);
  }
  args.push_back(f(x, w, options, {}));
  return args;
}

std::vector<Expr> extents(const Values& v, const std::vector<const char*>& names) {
  std::vector<Expr> result;
  for (const char* name : names) result.push_back(v.extent(name));
  return result;
}

bool channels_first(const Values& v) { return v.text("layout").starts_with("NC"); }

std::vector<Tensor> convolution(const Values& v, const std::vector<const char*>& data,
                                const std::vector<const char*>& window, Operator f) {
  const int64_t ci = v.extent("CI"), co = v.extent("CO"), groups = v.extent("groups");
  ConvOptions how = options(v);
  how.groups = groups;
  std::vector<Expr> x = extents(v, data), w = extents(v, window);
  if (channels_first(v)) {
    x.insert(x.begin(), {v.extent("N"), ci});
    w.insert(w.begin(), {co, ci / groups});
  } else {
    x.insert(x.begin(), v.extent("N")), x.push_back(ci);
    w.insert(w.end(), {ci / groups, co});
  }
  return arguments(v, x, w, co, how, f);
}

std::vector<Tensor> depthwise(const Values& v) {
  const int64_t n = v.extent("N"), h = v.extent("H"), w = v.extent("W"), c = v.extent("C"), m = v.extent("M");
  const int64_t kh = v.extent("KH"), kw = v.extent("KW");
  if (channels_first(v)) return arguments(v, {n, c, h, w}, {c * m, 1, kh, kw}, c * m, options(v), &depthwise_conv2d);
  return arguments(v, {n, h, w, c}, {kh, kw, c, m}, c * m, options(v), &depthwise_conv2d);
}

std::vector<Tensor> transposed(const Values& v) {
  const int64_t ci = v.extent("CI"), co = v.extent("CO"), groups = v.extent("groups");
  const TransposedConvOptions how{.stride = v.list("stride"),
                                  .padding = v.list("padding"),
                                  .output_padding = v.list("output_padding"),
                                  .dilation = v.list("dilation"),
                                  .groups = groups,
                                  .layout = given(v, "layout", "default"),
                                  .activation = v.text("activation"),
                                  .out_dtype = given(v, "out_dtype", "sum"),
                                  .tf32 = v.flag("tf32")};
  const Expr n = v.extent("N"), h = v.extent("H"), w = v.extent("W"), kh = v.extent("KH"), kw = v.extent("KW");
  if (channels_first(v)) return arguments(v, {n, ci, h, w}, {ci, co / groups, kh, kw}, co, how, &conv2d_transpose);
  return arguments(v, {n, h, w, ci}, {kh, kw, ci, co / groups}, co, how, &conv2d_transpose);
}

std::vector<Tensor> winograd(const Values& v) {
  const WinogradOptions how{.tile = v.extent("tile"), .padding = v.list("padding"), .activation = v.text("activation")};
  const int64_t ci = v.extent("CI"), co = v.extent("CO");
  return arguments(v, {v.extent("N"), v.extent("H"), v.extent("W"), ci}, {3, 3, ci, co}, co, how, &conv2d_winograd);
}

std::vector<Tensor> quantized(const Values& v) {
  const int64_t ci = v.extent("CI"), co = v.extent("CO"), groups = v.extent("groups");
  const Tensor x = placeholder({v.extent("N"), v.extent("H"), v.extent("W"), ci}, v.text("dtype"), "X");
  const Tensor w = placeholder({v.extent("KH"), v.extent("KW"), ci / groups, co}, v.text("w_dtype"), "W",
                               Placeholder{.param = v.flag("param")});
  const Tensor scales = placeholder({co}, "float32", "w_scale"), bias = placeholder({co}, "int32", "bias");
  QuantizedConvOptions options;
  options.stride = v.list("stride"), options.padding = v.list("padding"), options.dilation = v.list("dilation");
  options.groups = groups, options.activation = v.text("activation"), options.out_dtype = v.text("out_dtype");
  options.x_scale = v.number("x_scale"), options.x_zero_point = v.integer("x_zero_point");
  options.w_scale = scales, options.bias = bias;
  options.out_scale = v.number("out_scale"), options.out_zero_point = v.integer("out_zero_point");
  return {x, w, scales, bias, quantized_conv2d(x, w, options)};
}

std::vector<Parameter> with_options(std::vector<Parameter> sizes, bool groups = true) {
  sizes.insert(sizes.end(), {kStride, kPadding, kDilation});
  if (groups) sizes.push_back(kGroups);
  sizes.insert(sizes.end(), {kLayout, kDtype, kOut, kTF32, kParam, kBias, kActivation});
  return sizes;
}

}  // namespace

std::vector<StockKernel> convolution_kernels() {
  const std::vector<Parameter> sizes{kN, kH, kW, kCi, kCo, kKh, kKw};
  std::vector<Parameter> spread = with_options(sizes);
  spread.push_back({"output_padding", "of the result, behind it", "0"});
  return {
      {"conv1d", "windows over X [N, W, CI]", with_options({kN, kW, kCi, kCo, kKw}),
       [](const Values& v) { return convolution(v, {"W"}, {"KW"}, &conv1d); }},
      {"conv2d", "windows over X [N, H, W, CI]", with_options({kN, kH, kW, kCi, kCo, kKh, kKw}),
       [](const Values& v) { return convolution(v, {"H", "W"}, {"KH", "KW"}, &conv2d); }},
      {"conv3d", "windows over X [N, D, H, W, CI]", with_options({kN, kD, kH, kW, kCi, kCo, kKd, kKh, kKw}),
       [](const Values& v) { return convolution(v, {"D", "H", "W"}, {"KD", "KH", "KW"}, &conv3d); }},
      {"depthwise_conv2d", "windows over each channel of X [N, H, W, C]",
       with_options({kN, kH, kW, {"C", "channels of the data"}, kMultiplier, kKh, kKw}, false), &depthwise},
      {"conv2d_transpose", "the gradient of conv2d for its data, X [N, H, W, CI]", spread, &transposed},
      {"conv2d_im2col", "conv2d as one product of matrices, X [N, H, W, CI]", with_options(sizes),
       [](const Values& v) { return convolution(v, {"H", "W"}, {"KH", "KW"}, &conv2d_im2col); }},
      {"conv2d_winograd",
       "conv2d of 3 x 3 windows in fewer multiplications, X [N, H, W, CI]",
       {kN, kH, kW, kCi, kCo, {"tile", "results of a tile, 2 or 4", "2"}, kPadding, kDtype, kParam, kBias, kActivation},
       &winograd},
      {"quantized_conv2d",
       "windows over bytes X [N, H, W, CI], bias [CO], scales [CO]",
       {kN,
        kH,
        kW,
        kCi,
        kCo,
        kKh,
        kKw,
        kStride,
        kPadding,
        kDilation,
        kGroups,
        {"dtype", "of X", "uint8"},
        {"w_dtype", "of W", "int8"},
        {"out_dtype", "of the result", "float32"},
        kParam,
        {"x_scale", "of X", "1"},
        {"x_zero_point", "of X", "0"},
        {"out_scale", "of a result of integers", "1"},
        {"out_zero_point", "of a result of integers", "0"},
        kActivation},
       &quantized}};
}

}  // namespace tw::te::ops
