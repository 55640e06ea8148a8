// Solving guards for a loop's variable, with expressions over what is known around it as ends.

#include "src/lower/symbolic_split.h"

#include <algorithm>

#include "src/ir/equal.h"
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

// factor * var + rest < 0, where `rest` is over known variables.
struct Solved {
  int64_t factor = 0;
  Linear rest;
};

enum class Inner : uint8_t { kAll, kAny };  // for whatever the loops inside are at, or for some

std::optional<Solved> solve(const Guard& guard, const Var& var, const Bounds& inner, const Bounds& known, Inner of) {
  Solved out;
  out.rest = Linear::point(guard.form.constant);
  for (const Term& t : guard.form.terms) {
    const auto* v = as<VarRef>(t.atom);
    if (v && v->var == var) {
      out.factor = t.factor;
    } else if (uses_any(t.atom, inner)) {
      const Interval values = scaled(interval_of(t.atom, inner), t.factor);
      if (of == Inner::kAll ? values.hi == Interval::kPosInf : values.lo == Interval::kNegInf) return std::nullopt;
      out.rest.add_constant(of == Inner::kAll ? values.hi : values.lo);
    } else if (!uses_var(t.atom, var) && within(t.atom, known)) {
      out.rest.add(t.atom, t.factor);
    } else {
      return std::nullopt;
    }
  }
  out.rest.normalise();
  if (out.factor == 0 || out.rest.overflow) return std::nullopt;
  return out;
}

// The first value of the variable for which the condition holds, or that of which on it does not.
Expr cut_of(const Solved& solved, const Bounds& known) {
  const int64_t by = std::abs(solved.factor);
  const Expr rest = build(solved.rest, 1);
  return simplify(solved.factor > 0 ? floordiv(subtract(Expr(by - 1), rest), by) : add(floordiv(rest, by), 1), known);
}

// Where the statement leaves an element as it was.
const Select* choice_of(const Stmt& s) {
  const auto* st = as<Store>(s);
  const auto* choice = st ? as<Select>(st->value) : nullptr;
  const auto* kept = choice ? as<Load>(choice->no) : nullptr;
  const bool same =
      kept && kept->buffer == st->buffer && !kept->pred && std::ranges::equal(kept->at, st->at, ExprEqual());
  return same ? choice : nullptr;
}

}  // namespace

std::optional<SymbolicSplit> find_symbolic_split(const std::vector<const Guard*>& guards, const Var& var,
                                                 const Expr& extent, const Ranges& around, const Bounds& inner,
                                                 const Bounds& known) {
  if (!within(extent, known)) return std::nullopt;
  SymbolicSplit split{0, extent, {}};
  for (const Guard* guard : guards) {
    const auto solved = solve(*guard, var, inner, known, Inner::kAll);
    if (!solved) continue;
    const Expr cut = cut_of(*solved, around.vars());
    if (solved->factor > 0) {
      if (can_prove(cut <= Expr(0), around.vars())) continue;
      split.end = simplify(min(split.end, cut), around.vars());
    } else {
      split.first = simplify(max(split.first, cut), around.vars());
    }
    split.guards.insert(guard);
  }
  if (split.guards.empty()) return std::nullopt;
  return split;
}

Terms terms_of(const For& f, GuardReader& reader, const Ranges& around) {
  Terms terms;
  std::unordered_set<uint64_t> own;
  bool all = false;  // iterations do something
  const auto count = [&](const Expr& condition) {
    Expr first = 0, end = f.extent;
    for (const Expr& c : conjuncts(condition)) {
      const Guard* guard = reader.read(c);
      if (guard) terms.guards.push_back(guard);
      const auto solved = guard ? solve(*guard, f.var, terms.inner, around.vars(), Inner::kAny) : std::nullopt;
      if (!solved) continue;
      const Expr cut = cut_of(*solved, around.vars());
      (solved->factor > 0 ? end : first) = solved->factor > 0 ? min(end, cut) : max(first, cut);
    }
    terms.first = terms.first ? min(terms.first, first) : first;
    terms.end = terms.end ? max(terms.end, end) : end;
  };
  walk(f.body, [&](const Stmt& s) {
    if (const auto* below = as<For>(s)) {
      const auto extent = as_int(below->extent);
      terms.inner[below->var.id()] = extent ? Interval{0, *extent - 1} : Interval::everything();
    }
    if (const auto* l = as<LetStmt>(s)) terms.inner[l->var.id()] = Interval::everything();
    if (const auto* a = as<Allocate>(s)) own.insert(a->buffer.id());
    if (const Select* choice = choice_of(s))
      count(choice->cond);
    else if (const auto* st = as<Store>(s); as<Evaluate>(s) || as<Sync>(s) || (st && !own.contains(st->buffer.id())))
      all = true;
    return true;
  });
  if (all || !terms.first) terms.first = 0, terms.end = f.extent;
  terms.first = simplify(terms.first, around.vars());
  terms.end = simplify(terms.end, around.vars());
  return terms;
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
