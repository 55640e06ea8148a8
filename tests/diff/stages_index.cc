// Stages that read elsewhere than they write: halos, padding, other orders, subscripts that are data.
#include <utility>

#include "src/ir/simplify.h"
#include "te/promote.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

bool stencil(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || t.dtype().is_bool()) return false;
  const size_t d = m.dimension(t);
  const int64_t width = m.random().below(3) + 1;
  if (Maker::size(t, d).value_or(0) < width + 1) return false;
  std::vector<Expr> shape = t.shape();
  shape[d] = *Maker::size(t, d) - width;
  Facts facts = m.facts(t);
  for (int64_t w = 1; w <= width; ++w) facts = add(facts, mul(m.facts(t), {static_cast<double>(w), 1, 0}));
  return m.define(shape, facts, [&](const Vars& v) {
    Expr total = t(exprs(v));
    for (int64_t w = 1; w <= width; ++w) {
      std::vector<Expr> at = exprs(v);
      at[d] = at[d] + Expr(w);
      total = total + t(at) * constant(static_cast<double>(w), t.dtype());
    }
    return total;
  });
}

bool pad(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  const int64_t left = m.random().below(3), right = m.random().below(3);
  const double value = t.dtype().is_bool() ? 1 : 3;
  std::vector<Expr> shape = t.shape();
  shape[d] = ir::simplify(t.shape()[d] + Expr(left + right));
  return m.define(shape, join(m.facts(t), {3, 1, 0}), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[d] = at[d] - Expr(left);
    const Expr inside = te::all({Expr(v[d]) >= Expr(left), Expr(v[d]) < Expr(left) + t.shape()[d]});
    return te::if_then_else(inside, t(at), constant(value, t.dtype()));
  });
}

bool transpose(Maker& m, const Tensor& t) {
  std::vector<size_t> order(t.rank());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  for (size_t d = order.size(); d > 1; --d)
    std::swap(order[d - 1], order[static_cast<size_t>(m.random().below(static_cast<int64_t>(d)))]);
  std::vector<Expr> shape;
  for (size_t d : order) shape.push_back(t.shape()[d]);
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at(order.size());
    for (size_t d = 0; d < order.size(); ++d) at[order[d]] = v[d];
    return t(at);
  });
}

// Every second element, or from the back.
bool strided(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  const bool reversed = m.random().chance(40);
  std::vector<Expr> shape = t.shape();
  if (!reversed) shape[d] = ir::simplify(ir::floordiv(t.shape()[d] + Expr(1), Expr(2)));
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[d] = reversed ? t.shape()[d] - Expr(1) - v[d] : Expr(v[d]) * Expr(2);
    return t(at);
  });
}

// Each element some times, the last one perhaps less often.
bool repeated(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  if (!Maker::size(t, d)) return false;
  const int64_t times = 2 + m.random().below(2);
  std::vector<Expr> shape = t.shape();
  shape[d] = *Maker::size(t, d) * times - m.random().below(times);
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[d] = ir::floordiv(v[d], Expr(times));
    return t(at);
  });
}

bool broadcast(Maker& m, const Tensor& t) {
  if (t.rank() >= 3 || t.dtype().is_bool()) return false;
  const int64_t n = m.random().below(7) + 2;
  std::vector<Expr> shape = t.shape();
  const size_t d = static_cast<size_t>(m.random().below(static_cast<int64_t>(t.rank()) + 1));
  shape.insert(shape.begin() + static_cast<int64_t>(d), Expr(n));
  return m.define(shape, add(m.facts(t), {1, 1, 0}), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at.erase(at.begin() + static_cast<int64_t>(d));
    return t(at) - constant(1, t.dtype());
  });
}

bool flatten(Maker& m, const Tensor& t) {
  if (t.rank() != 2 || !Maker::size(t, 0) || Maker::size(t, 1).value_or(0) == 0) return false;
  const Expr columns = t.shape()[1];
  return m.define({*Maker::size(t, 0) * *Maker::size(t, 1)}, m.facts(t),
                  [&](const Vars& v) { return t(ir::floordiv(v[0], columns), ir::floormod(v[0], columns)); });
}

// Subscripts that are data: nobody knows what is read.
bool gather(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  if (!Maker::size(t, d)) return false;
  const double n = static_cast<double>(*Maker::size(t, d));
  std::vector<Expr> shape = t.shape();
  shape[d] = m.random().below(9) + 1;
  const Tensor index = m.placeholder({shape[d]}, Type::i(32), {40, 1, 0});
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[d] = te::arith(ir::BinOp::kFloorMod, index(v[d]), constant(n, Type::i(32)));
    return t(at);
  });
}

// A subscript that is the product of two axes, each of both signs.
bool product(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || !Maker::size(t, 0) || *Maker::size(t, 0) == 0) return false;
  std::vector<Expr> shape = {m.random().below(7) + 2, m.random().below(7) + 2};
  shape.insert(shape.end(), t.shape().begin() + 1, t.shape().end());
  const Expr last = *Maker::size(t, 0) - 1, a = m.random().below(6), b = m.random().below(6);
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = {ir::max(ir::min((v[0] - a) * (v[1] - b), last), Expr(0))};
    at.insert(at.end(), v.begin() + 2, v.end());
    return t(at);
  });
}

}  // namespace tw::diff
