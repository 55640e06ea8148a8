// Stages of stock operators over rows (te/ops): normalisations, attention, running sums, means over windows. Several
// passes over the same data, of which the later need what the earlier found.
#include <algorithm>
#include <cmath>

#include "tensorwright/ops.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

namespace ops = te::ops;

constexpr double kEpsilon = 1;    // of normalisations: no result is steeper than its data
constexpr double kLargest = 100;  // so that squares tell something

Type wide(Type type) { return type == Type::f(64) ? type : Type::f(32); }

double terms_of(Maker& m, const Tensor& t, size_t first) {
  double n = 1;
  for (size_t d = first; d < t.rank(); ++d) n *= static_cast<double>(m.most(t.shape()[d]));
  return n;
}

// x / sqrt(mean(x^2) + 1), of n values whose exact ones are known to `x.error`.
Facts normalised(const Facts& x, double n, Type type) {
  const double u = unit(type), square_error = 2 * x.bound * x.error + 4 * n * u * x.bound * x.bound;
  return {x.bound, 0, x.error + 0.5 * x.bound * square_error + 16 * u * x.bound};
}

Facts from_mean(const Facts& x, double n, Type type) {
  return {2 * x.bound, 0, 2 * x.error + 4 * n * unit(type) * x.bound};
}

bool layer_norm(Maker& m, const Tensor& t, const std::string& name) {
  if (!t.dtype().is_float() || m.facts(t).bound > kLargest) return false;
  ops::LayerNormOptions options;
  options.dimensions = m.random().below(std::min<int64_t>(2, static_cast<int64_t>(t.rank()))) + 1;
  const size_t first = t.rank() - static_cast<size_t>(options.dimensions);
  options.epsilon = kEpsilon;
  options.name = name;
  const double n = terms_of(m, t, first);
  Facts facts = normalised(from_mean(m.facts(t), n, wide(t.dtype())), n, wide(t.dtype()));
  if (m.random().chance(50)) {
    const std::vector<Expr> row(t.shape().begin() + static_cast<std::ptrdiff_t>(first), t.shape().end());
    options.gamma = m.placeholder(row, t.dtype());
    options.beta = m.placeholder(row, t.dtype());
    facts = add(mul(facts, m.facts(options.gamma)), m.facts(options.beta));
  }
  return m.adopt({ops::layer_norm(t, options)}, {facts});
}

bool rms_norm(Maker& m, const Tensor& t, const std::string& name) {
  if (!t.dtype().is_float() || m.facts(t).bound > kLargest) return false;
  const double n = terms_of(m, t, t.rank() - 1);
  const Facts facts = normalised(m.facts(t), n, wide(t.dtype()));
  return m.adopt({ops::rms_norm(t, {.epsilon = kEpsilon, .name = name})}, {facts});
}

bool group_norm(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t channels = t.rank() < 2 ? 0 : Maker::size(t, 1).value_or(0);
  if (!t.dtype().is_float() || m.facts(t).bound > kLargest || channels == 0) return false;
  ops::GroupNormOptions options;
  options.groups = channels % 2 == 0 ? 2 : 1;
  options.epsilon = kEpsilon;
  options.name = name;
  const double n = terms_of(m, t, 1);
  return m.adopt({ops::group_norm(t, options)},
                 {normalised(from_mean(m.facts(t), n, wide(t.dtype())), n, wide(t.dtype()))});
}

// The weights of a row are as far from their exact values as twice the scores are, and each sum rounds.
bool attended(Maker& m, const Tensor& t, const std::string& name) {
  if (!t.dtype().is_float() || t.rank() < 2 || t.rank() > 3) return false;
  std::vector<Expr> keys = t.shape(), values = t.shape();
  keys[t.rank() - 2] = Expr();
  const Tensor k = m.placeholder(keys, t.dtype());
  values[t.rank() - 2] = k.shape()[t.rank() - 2];
  values.back() = Expr();
  const Tensor v = m.placeholder(values, t.dtype());
  const Type type = wide(t.dtype());
  const int64_t columns = m.most(t.shape().back());
  const Facts scores = sum_of(settle(mul(m.facts(t), m.facts(k)), type), columns, type);
  const double terms = static_cast<double>(m.most(values[t.rank() - 2]));
  const double apart = scores.error + 8 * unit(type) * scores.bound;
  if (apart > 0.05) return false;
  const Facts row = m.facts(v);
  const Facts facts{row.bound, 0, row.error + row.bound * (4 * apart + (8 * terms + 64) * unit(type))};
  return m.adopt({ops::attention(t, k, v, {.causal = m.random().chance(30), .scale = 1.0, .name = name})}, {facts});
}

bool running_sum(Maker& m, const Tensor& t, const std::string& name) {
  const auto axis = static_cast<int64_t>(m.dimension(t));
  if (t.dtype().is_bool()) return false;
  const bool exclusive = m.random().chance(30), reverse = m.random().chance(30);
  const Tensor result = ops::cumsum(t, {.axis = axis, .exclusive = exclusive, .reverse = reverse, .name = name});
  const int64_t terms = m.most(t.shape()[static_cast<size_t>(axis)]);
  return m.adopt({result}, {sum_of(m.facts(t), terms, result.dtype())});
}

bool averaged(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() != 3 || !t.dtype().is_float() || Maker::size(t, 1).value_or(0) < 3) return false;
  ops::AvgPoolOptions options{.kernel = {m.random().below(2) + 2}, .stride = {m.random().below(3) + 1}};
  options.padding = {m.random().below(2)};
  options.ceil_mode = m.random().chance(30);
  options.count_include_pad = m.random().chance(50);
  options.name = name;
  return m.adopt({ops::avg_pool1d(t, options)}, {function_of(m.facts(t), 1, m.facts(t).bound, t.dtype())});
}

const Stock kStock[] = {{"layer_norm", layer_norm}, {"rms_norm", rms_norm},       {"group_norm", group_norm},
                        {"attended", attended},     {"running_sum", running_sum}, {"averaged", averaged}};

}  // namespace

bool stock_row(Maker& m, const Tensor& t) { return t.rank() > 0 && draw_stock(m, kStock, t); }

}  // namespace tw::diff
