// Stages of stock operators that add up products (te/ops): windows with strides, padding and dilation in two layouts,
// data with zeros between its elements, transforms by rows of a matrix, sums that zero points are taken off.
#include <algorithm>

#include "tensorwright/ops.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

namespace ops = te::ops;

int64_t known(const Tensor& t, size_t d) { return Maker::size(t, d).value_or(0); }

// Of sums of so many products, in the dtype of the result.
Facts products(Maker& m, const Tensor& t, const Tensor& w, int64_t terms, Type out) {
  return sum_of(settle(mul(m.facts(t), m.facts(w)), out), terms, out);
}

bool multiplied(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() < 2 || t.rank() > 4) return false;
  const bool transposed = m.random().chance(50);
  const Expr depth = t.shape().back();
  const Tensor w =
      m.placeholder(transposed ? std::vector<Expr>{Expr(), depth} : std::vector<Expr>{depth, Expr()}, t.dtype());
  const Tensor result = ops::matmul(t, w, {.transpose_b = transposed, .name = name});
  return m.adopt({result}, {products(m, t, w, m.most(depth), result.dtype())});
}

bool layer(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() < 2 || t.rank() > 4) return false;
  const Tensor w = m.placeholder({t.shape().back(), Expr()}, t.dtype());
  const Type sum = ops::dense(t, w).dtype();
  const Tensor bias = m.placeholder({w.shape()[1]}, sum);
  const Tensor result =
      ops::dense(t, w, {.bias = bias, .activation = m.random().chance(50) ? "relu" : "", .name = name});
  return m.adopt({result}, {add(products(m, t, w, m.most(t.shape().back()), sum), m.facts(bias))});
}

// A line of data with channels, and how many elements the window over it has.
struct Line {
  bool last;  // the channels
  int64_t taps, extent;
};
std::optional<Line> line(Maker& m, const Tensor& t) {
  const bool last = m.random().chance(50);
  const size_t spatial = last ? 1 : 2;
  if (t.rank() != 3 || known(t, spatial) == 0) return {};
  return Line{last, m.random().below(3) + 1, known(t, spatial)};
}

bool convolved(Maker& m, const Tensor& t, const std::string& name) {
  const auto over = line(m, t);
  if (!over) return false;
  ops::ConvOptions options{.stride = {m.random().below(2) + 1},
                           .padding = {m.random().below(3), m.random().below(2)},
                           .dilation = {m.random().below(2) + 1},
                           .layout = over->last ? "NWC" : "NCW",
                           .name = name};
  const int64_t reach = options.dilation[0] * (over->taps - 1) + 1;
  if (over->extent + options.padding[0] + options.padding[1] < reach) return false;
  const Expr channels = t.shape()[over->last ? 2 : 1];
  const Tensor w = m.placeholder(
      over->last ? std::vector<Expr>{over->taps, channels, Expr()} : std::vector<Expr>{Expr(), channels, over->taps},
      t.dtype());
  const Tensor result = ops::conv1d(t, w, options);
  return m.adopt({result}, {products(m, t, w, over->taps * m.most(channels), result.dtype())});
}

bool spread(Maker& m, const Tensor& t, const std::string& name) {
  const auto over = line(m, t);
  if (!over) return false;
  ops::TransposedConvOptions options{.stride = {m.random().below(3) + 1},
                                     .padding = {m.random().below(2), m.random().below(2)},
                                     .layout = over->last ? "NWC" : "NCW",
                                     .name = name};
  options.output_padding = {m.random().below(options.stride[0])};
  const int64_t extent = (over->extent - 1) * options.stride[0] + over->taps + options.output_padding[0];
  if (extent <= options.padding[0] + options.padding[1]) return false;
  const Expr channels = t.shape()[over->last ? 2 : 1];
  const Tensor w = m.placeholder(
      over->last ? std::vector<Expr>{over->taps, channels, Expr()} : std::vector<Expr>{channels, Expr(), over->taps},
      t.dtype());
  const Tensor result = ops::conv1d_transpose(t, w, options);
  return m.adopt({result}, {products(m, t, w, over->taps * m.most(channels), result.dtype())});
}

bool each_channel(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() != 4 || known(t, 1) == 0 || known(t, 2) == 0) return false;
  const Tensor w = m.placeholder({2, 2, t.shape()[3], m.random().below(2) + 1}, t.dtype());
  const Tensor result = ops::depthwise_conv2d(t, w, {.padding = {1, 0, 0, 1}, .name = name});
  return m.adopt({result}, {products(m, t, w, 4, result.dtype())});
}

// Rows of the matrices: at most 2 elements of the data, 1.5 of the weights in quarters, 3 of the products, in each
// direction.
bool by_tiles(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() != 4 || !t.dtype().is_float() || known(t, 1) == 0 || known(t, 2) == 0) return false;
  const Tensor w = m.placeholder({3, 3, t.shape()[3], Expr()}, t.dtype());
  const Tensor result = ops::conv2d_winograd(t, w, {.padding = {1}, .name = name});
  const Type sum = result.dtype();
  const Facts data = mul(m.facts(t), {4, 1, 0}), weights = mul(m.facts(w), {2.25, 0.25, 0});
  const Facts product = sum_of(settle(mul(settle(data, sum), settle(weights, sum)), sum), m.most(t.shape()[3]), sum);
  return m.adopt({result}, {mul(product, {9, 1, 0})});
}

bool quantized(Maker& m, const Tensor& t, const std::string& name) {
  const bool bytes = t.dtype() == Type::i(8) || t.dtype() == Type::u(8);
  if (!bytes || t.rank() < 2 || t.rank() > 4) return false;
  const Tensor w = m.placeholder({t.shape().back(), Expr()}, Type::i(8));
  ops::QuantizedDenseOptions options;
  options.x_zero_point = m.random().below(5);
  options.w_zero_point = m.random().below(3) - 1;
  options.out_dtype = "int32";
  options.name = name;
  const Facts x = add(m.facts(t), {4, 1, 0}), weight = add(m.facts(w), {1, 1, 0});
  const Facts sum = sum_of(settle(mul(x, weight), Type::i(32)), m.most(t.shape().back()), Type::i(32));
  return m.adopt({ops::quantized_dense(t, w, options)}, {sum});
}

const Stock kStock[] = {
    {"multiplied", multiplied},     {"layer", layer},       {"convolved", convolved}, {"spread", spread},
    {"each_channel", each_channel}, {"by_tiles", by_tiles}, {"quantized", quantized}};

}  // namespace

bool stock_product(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool()) return false;
  return draw_stock(m, kStock, t);
}

}  // namespace tw::diff
