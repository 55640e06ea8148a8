// Solving guards for a loop's variable, with expressions over the scalars as ends.

#include "src/lower/symbolic_split.h"

#include <algorithm>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

bool within(const Expr& e, const Bounds& vars) {
  const auto used = used_vars(e);
  return std::all_of(used.begin(), used.end(), [&](uint64_t id) { return vars.contains(id); });
}

// factor * var + rest < 0, where `rest` is over scalars and the largest that it can be.
struct Solved {
  int64_t factor = 0;
  Linear rest;
};

std::optional<Solved> solve(const Guard& guard, const Var& var, const Bounds& inner, const Bounds& scalars) {
  Solved out;
  out.rest = Linear::point(guard.form.constant);
  for (const Term& t : guard.form.terms) {
    const auto* v = as<VarRef>(t.atom);
    if (v && v->var == var) {
      out.factor = t.factor;
    } else if (uses_any(t.atom, inner)) {
      const Interval worst = scaled(interval_of(t.atom, inner), t.factor);
      if (worst.hi == Interval::kPosInf) return std::nullopt;
      out.rest.add_constant(worst.hi);
    } else if (within(t.atom, scalars)) {
      out.rest.add(t.atom, t.factor);
    } else {
      return std::nullopt;
    }
  }
  out.rest.normalise();
  if (out.factor == 0 || out.rest.overflow) return std::nullopt;
  return out;
}

}  // namespace

std::optional<SymbolicSplit> find_symbolic_split(const std::vector<const Guard*>& guards, const Var& var,
                                                 const Expr& extent, const Ranges& around, const Bounds& inner,
                                                 const Bounds& scalars) {
  if (!within(extent, scalars)) return std::nullopt;
  SymbolicSplit split{0, extent, {}};
  for (const Guard* guard : guards) {
    const auto solved = solve(*guard, var, inner, scalars);
    if (!solved) continue;
    const int64_t by = std::abs(solved->factor);
    if (solved->factor > 0) {  // var < ceil(-rest / by)
      const Expr end = simplify(floordiv(subtract(Expr(by - 1), build(solved->rest, 1)), by), around.vars());
      if (can_prove(end <= Expr(0), around.vars())) continue;
      split.end = simplify(min(split.end, end), around.vars());
    } else {  // var > floor(rest / by)
      const Expr first = simplify(add(floordiv(build(solved->rest, 1), by), 1), around.vars());
      split.first = simplify(max(split.first, first), around.vars());
    }
    split.guards.insert(guard);
  }
  if (split.guards.empty()) return std::nullopt;
  return split;
}

Stmt without_guards(const Stmt& s, const std::unordered_set<const Guard*>& guards, GuardReader& reader,
                    bool of_selects) {
  const auto left = [&](const Expr& condition) {
    std::vector<Expr> open = conjuncts(condition);
    std::erase_if(open, [&](const Expr& c) { return guards.contains(reader.read(c)); });
    return conjunction(open);
  };
  const auto on_stmt = [&](const Stmt& at) {
    const auto* i = as<If>(at);
    if (!i || of_selects) return at;
    const Expr open = left(i->cond);
    if (!open) return i->then;
    return open.same_as(i->cond) ? at : if_then(open, i->then, i->otherwise);
  };
  const auto on_expr = [&](const Expr& at) {
    const auto* choice = as<Select>(at);
    if (!choice || !of_selects) return at;
    const Expr open = left(choice->cond);
    if (!open) return choice->yes;
    return open.same_as(choice->cond) ? at : select(open, choice->yes, choice->no);
  };
  return rewrite(s, on_stmt, on_expr);
}

}  // namespace tw::lower
