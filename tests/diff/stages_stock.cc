// Stages of stock operators (te/ops): what they add to the kinds of other files is graphs of several stages, reductions
// among which a NaN wins, and subscripts that are clipped, mirrored or wrapped.
#include <algorithm>

#include "tensorwright/ops.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

namespace ops = te::ops;

int64_t axis_of(Maker& m, const Tensor& t) { return static_cast<int64_t>(m.dimension(t)); }

int64_t known(const Tensor& t, int64_t axis) { return Maker::size(t, static_cast<size_t>(axis)).value_or(0); }

bool extreme(Maker& m, const Tensor& t, const std::string& name) {
  const ops::AxisOptions options{{axis_of(m, t)}, m.random().chance(30), name};
  if (t.dtype().is_bool() || known(t, options.axis[0]) == 0) return false;  // infinities, or the ends of the dtype
  return m.adopt({m.random().chance(50) ? ops::max(t, options) : ops::min(t, options)}, {m.facts(t)});
}

bool place(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t axis = axis_of(m, t), n = known(t, axis);
  if (t.dtype().is_bool() || !m.facts(t).exact() || n == 0) return false;
  const ops::ArgOptions options{axis, m.random().chance(30), m.random().chance(50) ? "int32" : "int64", name};
  const Facts facts{static_cast<double>(n), 1, 0};
  return m.adopt({m.random().chance(50) ? ops::argmax(t, options) : ops::argmin(t, options)}, {facts});
}

bool softmax(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t axis = axis_of(m, t);
  if (!t.dtype().is_float()) return false;
  const double terms = static_cast<double>(m.most(t.shape()[static_cast<size_t>(axis)]));
  Facts facts = function_of(m.facts(t), 2, 1, t.dtype());
  facts.error += 4 * terms * unit(t.dtype());
  return m.adopt({ops::softmax(t, {axis, name})}, {facts});
}

bool join(Maker& m, const Tensor& t, const std::string& name) {
  const Tensor other = m.like(t);
  const ops::JoinOptions options{axis_of(m, t), name};
  const bool behind = t.rank() > 3 || m.random().chance(60);
  const Tensor result = behind ? ops::concat({t, other, t}, options) : ops::stack({t, other}, options);
  return m.adopt({result}, {join(m.facts(t), m.facts(other))});
}

bool part(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t axis = axis_of(m, t), n = known(t, axis);
  if (n < 2) return false;
  ops::SliceOptions options{std::vector<int64_t>(t.rank(), 0), {}, std::vector<int64_t>(t.rank(), 1), name};
  for (size_t d = 0; d < t.rank(); ++d) {
    if (!Maker::size(t, d)) return false;
    options.end.push_back(*Maker::size(t, d));
  }
  const auto d = static_cast<size_t>(axis);
  options.begin[d] = m.random().below(n);
  options.strides[d] = m.random().one_of<int64_t>({-3, -2, -1, 1, 2, 3});
  options.end[d] = options.strides[d] < 0 ? INT64_MIN : n;
  return m.adopt({ops::strided_slice(t, options)}, {m.facts(t)});
}

bool around(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t axis = axis_of(m, t), n = known(t, axis);
  ops::PadOptions options{std::vector<int64_t>(t.rank(), 0), std::vector<int64_t>(t.rank(), 0)};
  const std::string mode = m.random().pick(std::vector<std::string>{"reflect", "edge", "wrap"});
  if (n < (mode == "reflect" ? 4 : 1)) return false;
  options.before[static_cast<size_t>(axis)] = m.random().below(4);
  options.behind[static_cast<size_t>(axis)] = m.random().below(4);
  options.mode = mode;
  options.name = name;
  return m.adopt({ops::pad(t, options)}, {m.facts(t)});
}

bool taken(Maker& m, const Tensor& t, const std::string& name) {
  const int64_t axis = axis_of(m, t);
  if (known(t, axis) == 0 || t.rank() > 3) return false;
  const std::vector<Type> types{Type::i(32), Type::i(64), Type::u(8), Type::u(32), Type::u(64)};
  const Tensor indices = m.placeholder({Expr()}, m.random().pick(types));
  const ops::TakeOptions options{axis, m.random().chance(50) ? "clip" : "wrap", name};
  return m.adopt({ops::take(t, indices, options)}, {m.facts(t)});
}

bool pooled(Maker& m, const Tensor& t, const std::string& name) {
  if (t.rank() != 3 || t.dtype().is_bool() || known(t, 1) < 3) return false;
  ops::MaxPoolOptions options{.kernel = {m.random().below(2) + 2}, .stride = {m.random().below(3) + 1}};
  options.padding = {m.random().below(2)};
  options.ceil_mode = m.random().chance(30);
  options.name = name;
  return m.adopt({ops::max_pool1d(t, options)}, {m.facts(t)});
}

bool clipped(Maker& m, const Tensor& t, const std::string& name) {
  if (t.dtype().is_bool()) return false;
  return m.adopt({ops::clip(t, {-2, 3, name})}, {join(m.facts(t), {3, 1, 0})});
}

bool hot(Maker& m, const Tensor& t, const std::string& name) {
  if (t.dtype().is_float() || t.dtype().is_bool() || t.rank() > 3) return false;
  return m.adopt({ops::one_hot(t, {.depth = 4, .on = 2, .axis = axis_of(m, t), .name = name})}, {{2, 1, 0}});
}

const Stock kStock[] = {{"extreme", extreme}, {"place", place},   {"softmax", softmax}, {"join", join},
                        {"part", part},       {"around", around}, {"taken", taken},     {"pooled", pooled},
                        {"clipped", clipped}, {"hot", hot}};

}  // namespace

bool draw_stock(Maker& m, std::span<const Stock> operators, const Tensor& t) {
  const Stock& one = operators[static_cast<size_t>(m.random().below(static_cast<int64_t>(operators.size())))];
  if (!one.draw(m, t, "K" + std::to_string(m.count()))) return false;
  m.note(std::string("stock ") + one.name);
  return true;
}

bool stock(Maker& m, const Tensor& t) {
  if (t.rank() == 0) return false;
  return draw_stock(m, kStock, t);
}

}  // namespace tw::diff
