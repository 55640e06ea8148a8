// Stages that reduce.
#include <algorithm>

#include "te/promote.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

// One to three of the dimensions, at random, or all.
std::vector<bool> reduced_dimensions(Maker& m, const Tensor& t) {
  std::vector<bool> reduced(t.rank(), m.random().chance(15));
  reduced[m.dimension(t)] = true;
  if (m.random().chance(40)) reduced[m.dimension(t)] = true;
  if (m.random().chance(20)) reduced[m.dimension(t)] = true;
  return reduced;
}

// Where a reduction of so many begins: mostly with the first.
int64_t later_start(Maker& m, int64_t count) {
  if (count < 3 || !m.random().chance(25)) return 0;
  m.note("reduction from 2 on");
  return 2;
}

}  // namespace

bool reduce(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || t.dtype().is_bool()) return false;
  const std::vector<bool> reduced = reduced_dimensions(m, t);
  std::vector<IterVar> axes;
  std::vector<Expr> shape;
  int64_t terms = 1;
  bool may_be_empty = false;
  for (size_t d = 0; d < t.rank(); ++d) {
    if (!reduced[d]) {
      shape.push_back(t.shape()[d]);
      continue;
    }
    const int64_t from = later_start(m, Maker::size(t, d).value_or(0));
    axes.push_back(te::reduce_axis(from, t.shape()[d], "r" + std::to_string(d)));
    terms *= m.most(t.shape()[d]) - from;
    may_be_empty = may_be_empty || Maker::size(t, d).value_or(0) == from;
  }
  const int kind = static_cast<int>(m.random().below(5));
  if (may_be_empty && t.dtype().is_float() && kind < 2) return false;  // infinities
  const Facts x = m.facts(t), square = settle(mul(x, x), t.dtype());
  const Facts facts = kind < 2    ? (may_be_empty ? Facts{1e300, 1, 0} : x)
                      : kind == 2 ? sum_of(x, terms, t.dtype())
                      : kind == 3 ? sum_of(square, terms, t.dtype())
                                  : prod_of(x, terms, t.dtype());
  const Facts three{3, 1, 0};
  const bool init = m.random().chance(20), where = m.random().chance(20);
  const bool from_0 = !shape.empty() && ir::is_int(axes[0].min, 0);
  const bool triangle = from_0 && m.random().chance(20), identities = from_0 && m.random().chance(20);
  return m.define(shape, init ? add(join(facts, three), mul(facts, three)) : facts, [&](const Vars& v) {
    std::vector<Expr> at;
    size_t next = 0, axis = 0;
    if (triangle) axes[0] = te::reduce_axis(0, ir::min(Expr(v[0]) + Expr(1), axes[0].extent), "r");
    if (triangle) m.note("triangle");
    for (size_t d = 0; d < t.rank(); ++d) at.push_back(reduced[d] ? Expr(axes[axis++]) : Expr(v[next++]));
    const Expr a = t(at), from = init ? constant(3, t.dtype()) : Expr();
    const Expr some = where ? te::arith(ir::BinOp::kNe, ir::floormod(Expr(axes[0]), Expr(3)), Expr(1)) : Expr();
    if (init) m.note("init=");
    if (where) m.note("where=");
    if (identities) m.note("identities");
    const auto term = [&](ir::ReduceOp op, const Expr& e) {
      return identities ? te::if_then_else(Expr(axes[0]) <= Expr(v[0]), e, ir::identity_of(op, t.dtype())) : e;
    };
    if (kind == 0) return te::max(term(ir::ReduceOp::kMax, a), axes, some, from);
    if (kind == 1) return te::min(term(ir::ReduceOp::kMin, a), axes, some, from);
    if (kind == 4) return te::prod(term(ir::ReduceOp::kProd, a), axes, some, from);
    return te::sum(term(ir::ReduceOp::kSum, kind == 2 ? a : a * a), axes, some, from);
  });
}

bool matmul(Maker& m, const Tensor& t) {
  if (t.rank() != 2 || t.dtype().is_bool()) return false;
  const bool transposed = m.random().chance(50);  // T * T^T
  const Tensor w = transposed ? t : m.placeholder({t.shape()[1], Expr()}, t.dtype());
  const int64_t from = later_start(m, Maker::size(t, 1).value_or(0));
  const IterVar k = te::reduce_axis(from, t.shape()[1], "r");
  const Facts term = settle(mul(m.facts(t), m.facts(w)), t.dtype());
  return m.define({t.shape()[0], transposed ? w.shape()[0] : w.shape()[1]},
                  sum_of(term, m.most(t.shape()[1]), t.dtype()),
                  [&](const Vars& v) { return te::sum(t(v[0], k) * (transposed ? w(v[1], k) : w(k, v[1])), {k}); });
}

// Of factors that are converted to twice their width.
bool wide_matmul(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() != 2 || type.is_bool() || type.bits == 64) return false;
  const Type wide = type.is_half() ? Type::f(32) : Type{type.code, static_cast<uint8_t>(2 * type.bits)};
  const Tensor w = m.placeholder({t.shape()[1], Expr()}, type);
  const IterVar k = te::reduce_axis(0, t.shape()[1], "r");
  const auto widened = [&](const Expr& e) { return te::astype(e, to_string(wide)); };
  return m.define({t.shape()[0], w.shape()[1]},
                  sum_of(settle(mul(m.facts(t), m.facts(w)), wide), m.most(t.shape()[1]), wide),
                  [&](const Vars& v) { return te::sum(widened(t(v[0], k)) * widened(w(k, v[1])), {k}); });
}

bool convolve(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || t.dtype().is_bool()) return false;
  const size_t d = m.dimension(t);
  const int64_t taps = m.random().below(3) + 2;
  if (Maker::size(t, d).value_or(0) < taps) return false;
  const Tensor w = m.placeholder({taps}, t.dtype());
  const IterVar k = te::reduce_axis(later_start(m, taps), taps, "r");
  std::vector<Expr> shape = t.shape();
  shape[d] = *Maker::size(t, d) - taps + 1;
  const Facts term = settle(mul(m.facts(t), m.facts(w)), t.dtype());
  return m.define(shape, sum_of(term, taps, t.dtype()), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at[d] = at[d] + Expr(k);
    return te::sum(t(at) * w(k), {k});
  });
}

}  // namespace tw::diff
