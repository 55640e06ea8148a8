// Solving guards for nothing: loops inside take their worst values, loops around stay in the condition.

#include "src/lower/inner_split.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"
#include "src/lower/join.h"

namespace tw::lower {

using namespace ir;

namespace {

// The guard for all values of the variables inside; empty where it does not depend on the loop and on one around it.
Expr throughout(const Guard& guard, const Var& var, const Ranges& around, const Bounds& inner) {
  Linear less = Linear::point(0), more = Linear::point(0);  // less < more
  less.add_constant(guard.form.constant);
  bool of_loop = false, of_others = false;
  for (const Term& t : guard.form.terms) {
    if (uses_any(t.atom, inner)) {
      const Interval worst = scaled(interval_of(t.atom, inner), t.factor);
      if (worst.hi == Interval::kPosInf) return {};
      less.add_constant(worst.hi);
      continue;
    }
    of_loop = of_loop || uses_var(t.atom, var);
    of_others = of_others || (!uses_var(t.atom, var) && !around.of(t.atom).is_point());
    if (t.factor > 0)
      less.add(t.atom, t.factor);
    else
      more.add(t.atom, -t.factor);
  }
  less.normalise();
  more.normalise();
  if (!of_loop || !of_others || less.overflow || more.overflow) return {};
  return build(less, 1) < build(more, 1);
}

}  // namespace

std::optional<InnerSplit> find_inner_split(const std::vector<const Guard*>& guards, const Var& var,
                                           const Ranges& around, const Bounds& inner) {
  InnerSplit split;
  std::vector<Expr> all;
  for (const Guard* guard : guards) {
    const Expr holds = throughout(*guard, var, around, inner);
    if (!holds || can_disprove(holds, around.vars())) continue;
    split.guards.insert(guard);
    if (std::none_of(all.begin(), all.end(), [&](const Expr& e) { return equal(e, holds); })) all.push_back(holds);
  }
  if (all.empty()) return std::nullopt;
  split.holds = conjunction(all);
  return split;
}

bool goes_on(const For& f) {
  std::unordered_set<uint64_t> own;
  bool found = false;
  walk(f.body, [&](const Stmt& s) {
    if (const auto* a = as<Allocate>(s)) own.insert(a->buffer.id());
    if (const auto* st = as<Store>(s); st && !own.contains(st->buffer.id()))
      found = found || std::none_of(st->at.begin(), st->at.end(), [&](const Expr& e) { return uses_var(e, f.var); });
    return !found;
  });
  return found;
}

bool takes_branch(const For& f) {
  return f.kind == ForKind::kSerial && as_int(f.extent) && holds_outer_loop(f.body) && !goes_on(f);
}

bool decided_inside(const Stmt& body, const std::vector<const Guard*>& guards, const Expr& atom) {
  std::vector<Var> loops;
  walk(body, [&](const Stmt& s) {
    if (const auto* f = as<For>(s); f && takes_branch(*f)) loops.push_back(f->var);
    return true;
  });
  const auto mentions = [](const Guard& guard, const auto& is) {
    return std::any_of(guard.form.terms.begin(), guard.form.terms.end(), [&](const Term& t) { return is(t.atom); });
  };
  bool any = false;
  for (const Guard* guard : guards) {
    if (!mentions(*guard, [&](const Expr& e) { return equal(e, atom); })) continue;
    any = mentions(*guard, [&](const Expr& e) {
      return std::any_of(loops.begin(), loops.end(), [&](const Var& v) { return uses_var(e, v); });
    });
    if (!any) return false;
  }
  return any;
}

bool decides_copies(const Stmt& body, const std::vector<const Guard*>& guards, const Var& var) {
  std::vector<Var> copies;
  walk(body, [&](const Stmt& s) {
    if (const auto* f = as<For>(s); f && f->kind == ForKind::kUnrolled) copies.push_back(f->var);
    return true;
  });
  return std::ranges::any_of(guards, [&](const Guard* guard) {
    const auto uses = [&](const Var& used) {
      return std::ranges::any_of(guard->form.terms, [&](const Term& t) { return uses_var(t.atom, used); });
    };
    return uses(var) && std::ranges::any_of(copies, uses);
  });
}

}  // namespace tw::lower
