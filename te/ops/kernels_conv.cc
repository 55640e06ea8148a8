// Convolutions by name.
#include "te/ops/kernels.h"
#include "tensorwright/ops/conv.h"

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
    kOut{"out_dtype", "of the result; sum: what is added up in", "sum"}, kParam{"param", "weights may be packed ahead", "true"},
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
          .out_dtype = given(v, "out_dtype", "sum")};
}

// X, W, a bias where one is asked for, and the result.
std::vector<Tensor> arguments(const Values& v, std::vector<Expr> x_shape, std::vector<Expr> w_shape, int64_t channels,
                              ConvOptions options, Operator f) {
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

std::vector<Parameter> with_options(std::vector<Parameter> sizes, bool groups = true) {
  sizes.insert(sizes.end(), {kStride, kPadding, kDilation});
  if (groups) sizes.push_back(kGroups);
  sizes.insert(sizes.end(), {kLayout, kDtype, kOut, kParam, kBias, kActivation});
  return sizes;
}

}  // namespace

std::vector<Kernel> convolution_kernels() {
  return {{"conv1d", "windows over X [N, W, CI]", with_options({kN, kW, kCi, kCo, kKw}),
           [](const Values& v) { return convolution(v, {"W"}, {"KW"}, &conv1d); }},
          {"conv2d", "windows over X [N, H, W, CI]", with_options({kN, kH, kW, kCi, kCo, kKh, kKw}),
           [](const Values& v) { return convolution(v, {"H", "W"}, {"KH", "KW"}, &conv2d); }},
          {"conv3d", "windows over X [N, D, H, W, CI]", with_options({kN, kD, kH, kW, kCi, kCo, kKd, kKh, kKw}),
           [](const Values& v) { return convolution(v, {"D", "H", "W"}, {"KD", "KH", "KW"}, &conv3d); }},
          {"depthwise_conv2d", "windows over each channel of X [N, H, W, C]",
           with_options({kN, kH, kW, {"C", "channels of the data"}, kMultiplier, kKh, kKw}, false), &depthwise}};
}

}  // namespace tw::te::ops
