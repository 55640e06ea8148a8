// Rows, windows and values by name: softmax, normalisations, pooling, activations, attention.
#include "te/ops/activation.h"
#include "te/ops/kernels.h"
#include "te/ops/site.h"
#include "tensorwright/ops/attention.h"
#include "tensorwright/ops/norm.h"
#include "tensorwright/ops/pool.h"
#include "tensorwright/ops/softmax.h"

namespace tw::te::ops {
namespace {

// clang-format off: a table
const Parameter kRows{"M", "rows"}, kColumns{"N", "columns"}, kAxis{"axis", "the axis; negative from the end", "-1"},
    kDtype{"dtype", "of the operands and the result", "float32"}, kShape{"shape", "of the operand, as 32x128x56x56"},
    kEpsilon{"epsilon", "added to the variance", "1e-05"},
    kBatch{"N", "images", "1"}, kHeight{"H", "rows of an image"}, kWidth{"W", "columns of an image"}, kChannels{"C", "channels"},
    kKernel{"kernel", "extents of a window, as 3 or 3x3"}, kStride{"stride", "as kernel; same: kernel", "same"},
    kPadding{"padding", "as kernel, or 4 numbers: before, then behind", "0"}, kLayout{"layout", "NHWC or NCHW", "NHWC"},
    kActivation{"function", "relu, gelu, silu, ...", "gelu"};
// clang-format on

Tensor matrix(const Values& v, const char* name = "X") {
  return placeholder({v.size("M"), v.extent("N")}, v.text("dtype"), name);
}

Tensor vector(const Values& v, const char* extent, const char* name) {
  return placeholder({v.extent(extent)}, v.text("dtype"), name);
}

template <class Operator>
std::vector<Tensor> along(const Values& v, Operator f) {
  const Tensor x = matrix(v);
  return {x, f(x, SoftmaxOptions{.axis = v.integer("axis")}, std::source_location::current())};
}

std::vector<Tensor> layer_normed(const Values& v) {
  const Tensor x = matrix(v), gamma = vector(v, "N", "gamma"), beta = vector(v, "N", "beta");
  return {x, gamma, beta, layer_norm(x, {.gamma = gamma, .beta = beta, .epsilon = v.number("epsilon")})};
}

std::vector<Tensor> rms_normed(const Values& v) {
  const Tensor x = matrix(v), gamma = vector(v, "N", "gamma");
  return {x, gamma, rms_norm(x, {.gamma = gamma, .epsilon = v.number("epsilon")})};
}

Tensor image(const Values& v) {
  const Expr n = v.extent("N"), h = v.extent("H"), w = v.extent("W"), c = v.extent("C");
  const bool last = v.text("layout") != "NCHW";
  return placeholder(last ? std::vector<Expr>{n, h, w, c} : std::vector<Expr>{n, c, h, w}, v.text("dtype"), "X");
}

std::vector<Tensor> batch_normed(const Values& v) {
  const Tensor x = image(v);
  std::vector<Tensor> args = {x};
  for (const char* name : {"mean", "variance", "gamma", "beta"}) args.push_back(vector(v, "C", name));
  const int64_t axis = v.text("layout") == "NCHW" ? 1 : -1;
  args.push_back(batch_norm(x, args[1], args[2],
                            {.gamma = args[3], .beta = args[4], .axis = axis, .epsilon = v.number("epsilon")}));
  return args;
}

template <class Options>
Options window(const Values& v) {
  Options options;
  options.kernel = v.list("kernel");
  if (v.text("stride") != "same") options.stride = v.list("stride");
  options.padding = v.list("padding");
  options.layout = v.text("layout");
  return options;
}

std::vector<Tensor> attended(const Values& v) {
  const int64_t b = v.extent("B"), h = v.extent("H"), s = v.extent("S"), d = v.extent("D");
  const int64_t t = v.text("T") == "same" ? s : v.extent("T"), shared = v.text("HK") == "same" ? h : v.extent("HK");
  const Tensor q = placeholder({b, h, s, d}, v.text("dtype"), "Q");
  const Tensor k = placeholder({b, shared, t, d}, v.text("dtype"), "K");
  const Tensor values = placeholder({b, shared, t, d}, v.text("dtype"), "V");
  return {q, k, values, attention(q, k, values, {.causal = v.flag("causal")})};
}

std::vector<Tensor> activated(const Values& v) {
  std::vector<Expr> shape;
  for (const int64_t extent : v.list("shape")) shape.emplace_back(extent);
  const Tensor x = placeholder(shape, v.text("dtype"), "X");
  const Site site{"activation", {}};
  return {x, compute(
                 shape,
                 [&](const std::vector<Var>& i) {
                   return activate(site, v.text("function"), x(std::vector<Expr>(i.begin(), i.end())));
                 },
                 v.text("function"))};
}

}  // namespace

std::vector<StockKernel> nn_kernels() {
  const std::vector<Parameter> windows = {kBatch,  kHeight,  kWidth,  kChannels, kKernel,
                                          kStride, kPadding, kLayout, kDtype};
  return {
      {"softmax",
       "exp(X) / sum(exp(X)) along an axis of X [M, N]",
       {kRows, kColumns, kAxis, kDtype},
       [](const Values& v) { return along(v, softmax); }},
      {"log_softmax",
       "X - log(sum(exp(X))) along an axis of X [M, N]",
       {kRows, kColumns, kAxis, kDtype},
       [](const Values& v) { return along(v, log_softmax); }},
      {"layer_norm",
       "(X - mean) / sqrt(var + epsilon) * gamma + beta over the rows of X [M, N]",
       {kRows, kColumns, kEpsilon, kDtype},
       layer_normed},
      {"rms_norm",
       "X / sqrt(mean(X^2) + epsilon) * gamma over the rows of X [M, N]",
       {kRows, kColumns, kEpsilon, kDtype},
       rms_normed},
      {"batch_norm",
       "(X - mean) / sqrt(variance + epsilon) * gamma + beta for each channel",
       {kBatch, kHeight, kWidth, kChannels, kEpsilon, kLayout, kDtype},
       batch_normed},
      {"max_pool2d", "the largest number of each window", windows,
       [](const Values& v) {
         const Tensor x = image(v);
         return std::vector<Tensor>{x, max_pool2d(x, window<MaxPoolOptions>(v))};
       }},
      {"avg_pool2d", "the mean of each window", windows,
       [](const Values& v) {
         const Tensor x = image(v);
         return std::vector<Tensor>{x, avg_pool2d(x, window<AvgPoolOptions>(v))};
       }},
      {"activation", "a function of each value", {kShape, kActivation, kDtype}, activated},
      {"attention",
       "softmax(Q @ K^T / sqrt(D)) @ V for each head: Q [B, H, S, D], K and V [B, HK, T, D]",
       {{"B", "sequences", "1"},
        {"H", "heads"},
        {"S", "rows of Q"},
        {"D", "columns"},
        {"T", "rows of K and V; same: S", "same"},
        {"HK", "heads of K and V, which divide H; same: H", "same"},
        {"causal", "position t takes part in s where t <= s", "false"},
        kDtype},
       attended},
  };
}

}  // namespace tw::te::ops
