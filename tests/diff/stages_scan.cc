// States over time: prefix sums, running maxima, two states of which one reads the other, and what sums up all states
// before.
#include <algorithm>

#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

// Which earlier state an update reads: one or two times back, there, beside it, or where the time says.
struct Earlier {
  int64_t back = 1;
  bool beside = false, pivot = false;

  Earlier(Maker& m, int64_t times, bool may_move, int64_t neighbours) {
    if (times > 2 && m.random().chance(25)) back = 2;
    beside = may_move && m.random().chance(25);
    pivot = may_move && !beside && neighbours >= times - back && m.random().chance(40);
    if (back == 2) m.note("state two times back");
    if (beside) m.note("state of a neighbour");
    if (pivot) m.note("state where the time says");
  }

  std::vector<Expr> at(const Vars& v) const {
    std::vector<Expr> at = exprs(v);
    at[0] = at[0] - Expr(back);
    if (beside) at.back() = ir::max(at.back() - Expr(1), Expr(0));
    if (pivot) at.back() = at[0];
    return at;
  }
};

int64_t known_extent(const Expr& extent) { return ir::as_int(extent).value_or(0); }

}  // namespace

bool scan(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool() || Maker::size(t, 0).value_or(0) < 2) return false;
  const int kind = static_cast<int>(m.random().below(3));
  const bool two = kind == 2;
  const Facts x = m.facts(t), sum = sum_of(x, *Maker::size(t, 0), type);
  const std::string name = "S" + std::to_string(m.count());
  std::vector<Tensor> state, init, update;
  const int64_t last = t.rank() > 1 ? Maker::size(t, t.rank() - 1).value_or(0) : 0;
  const bool narrow = two && last > 1 && m.random().chance(40);  // the second state
  const Earlier earlier(m, *Maker::size(t, 0), t.rank() > 1 && !narrow, known_extent(t.shape().back()));
  std::vector<Expr> first = t.shape();
  first[0] = earlier.back;
  for (size_t i = 0; i < (two ? 2u : 1u); ++i) {
    const std::string which = name + (two ? std::to_string(i) : "");
    std::vector<Expr> shape = t.shape(), begin = first;
    if (narrow && i == 1) shape.back() = begin.back() = Expr((last + 1) / 2);
    state.push_back(m.state(shape, type, which + "state"));
    init.push_back(te::compute(begin, [&](const Vars& v) { return t(exprs(v)); }, which + "init"));
  }
  const auto before = [&](size_t i, const Vars& v) {
    std::vector<Expr> at = earlier.at(v);
    if (narrow && i == 1) at.back() = ir::floordiv(at.back(), 2);
    return state[i](at);
  };
  for (size_t i = 0; i < state.size(); ++i) {
    const Body body = [&](const Vars& v) -> Expr {
      if (two && i == 1) return te::max(before(1, v), t(exprs(v)));
      if (two) return before(0, v) + before(1, v);
      return kind == 0 ? before(0, v) + t(exprs(v)) : te::max(before(0, v), t(exprs(v)));
    };
    update.push_back(te::compute(state[i].shape(), body, name + (two ? std::to_string(i) : "") + "update"));
  }
  std::vector<Facts> facts = {kind == 1 ? x : sum};
  if (two) facts.push_back(x);
  return m.adopt(te::scan(init, update, state, name), facts);
}

// Running sums along the last axis, in rows: time is the first axis of the states and the last one of what is stored.
bool running_sum(Maker& m, const Tensor& t) {
  const size_t last = t.rank() - 1;
  if (t.rank() < 2 || t.dtype().is_bool() || Maker::size(t, last).value_or(0) < 2) return false;
  const std::string name = "S" + std::to_string(m.count());
  std::vector<Expr> shape = t.shape(), first;
  std::rotate(shape.begin(), shape.end() - 1, shape.end());
  const Earlier earlier(m, *Maker::size(t, last), true, known_extent(shape.back()));
  first = shape;
  first[0] = earlier.back;
  const auto in_rows = [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    std::rotate(at.begin(), at.begin() + 1, at.end());
    return t(at);
  };
  const Tensor state = m.state(shape, t.dtype(), name + "state");
  const Tensor init = te::compute(first, in_rows, name + "init");
  const Body add = [&](const Vars& v) -> Expr { return state(earlier.at(v)) + in_rows(v); };
  const Tensor update = te::compute(shape, add, name + "update");
  const Facts sum = sum_of(m.facts(t), *Maker::size(t, last), t.dtype());
  if (!m.adopt(te::scan({init}, {update}, {state}, name), {sum})) return false;
  const Tensor sums = m.last();
  return m.define(t.shape(), sum, [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    std::rotate(at.begin(), at.end() - 1, at.end());
    return sums(at);
  });
}

// What solves a triangular system does: of all states before, the sum, whose states stay small, or the largest.
bool all_earlier(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool() || Maker::size(t, 0).value_or(0) < 2) return false;
  const std::string name = "S" + std::to_string(m.count());
  const bool sum = !type.is_uint() && m.random().chance(60);
  const Tensor state = m.state(t.shape(), type, name + "state");
  std::vector<Expr> first = t.shape();
  first[0] = 1;
  const Tensor init = te::compute(first, [&](const Vars& v) { return t(exprs(v)); }, name + "init");
  const Body of_all = [&](const Vars& v) -> Expr {
    const IterVar k = te::reduce_axis(0, v[0], "before");
    std::vector<Expr> at = exprs(v);
    at[0] = k;
    return sum ? te::sum(state(at), {k}) : te::max(state(at), {k});
  };
  const Tensor before = te::compute(t.shape(), of_all, name + "before");
  const Body next = [&](const Vars& v) -> Expr {
    const Expr x = t(exprs(v)), of_states = before(exprs(v));
    return sum ? x - of_states : x + of_states;
  };
  const Tensor update = te::compute(t.shape(), next, name + "update");
  m.note("states at all times before");
  const int64_t times = *Maker::size(t, 0);
  const Facts once = sum_of(m.facts(t), times, type);
  return m.adopt(te::scan({init}, {update}, {state}, name), {sum ? sum_of(once, times, type) : once});
}

}  // namespace tw::diff
