// Hoisting guards and tightening extents.

#include "src/lower/loop_extent.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// factor * v + rest < 0
struct OnVariable {
  int64_t factor;
  Linear rest;
};

std::optional<OnVariable> solve(const Expr& condition, const Var& var) {
  GuardReader reader;
  const Guard* guard = reader.read(condition);
  if (!guard) return std::nullopt;
  OnVariable out{0, Linear::point(guard->form.constant)};
  for (const Term& t : guard->form.terms) {
    const auto* v = as<VarRef>(t.atom);
    if (v && v->var == var)
      out.factor = t.factor;
    else if (uses_var(t.atom, var))
      return std::nullopt;
    else
      out.rest.add(t.atom, t.factor);
  }
  if (out.factor == 0) return std::nullopt;
  return out;
}

// The loop first .. first + extent - 1 while conditions on its variable are taken in.
struct Span {
  Expr extent;
  int64_t first = 0;
};

bool take_in(const std::optional<OnVariable>& solved, const For& f, const Ranges& ranges, Span& span) {
  if (!solved) return false;
  const auto extent = as_int(span.extent);
  if (solved->rest.is_constant() && extent) {
    const int64_t rest = solved->rest.constant, end = span.first + *extent;
    if (solved->factor > 0) {
      const int64_t new_end = std::min(end, floor_div(-rest - 1, solved->factor) + 1);
      span.extent = std::max<int64_t>(0, new_end - span.first);
    } else {
      const int64_t first = std::max(span.first, floor_div(rest, -solved->factor) + 1);
      span.extent = std::max<int64_t>(0, end - first);
      span.first = first;
    }
    return true;
  }
  if (f.kind != ForKind::kSerial || solved->factor < 0 || span.first != 0) return false;
  const Linear room = Linear::point(-1) - solved->rest;
  Expr end = add(floordiv(build(room, 1), solved->factor), 1);
  if (ranges.of(solved->rest).hi >= solved->factor) end = max(end, 0);
  span.extent = simplify(min(span.extent, end), ranges.vars());
  return true;
}

bool among(const Expr& e, const std::vector<Expr>& list) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& other) { return equal(e, other); });
}

const If* guarded(const Stmt& s) {
  const auto* i = as<If>(s);
  return i && !i->otherwise ? i : nullptr;
}

Stmt guarded_sequence(const Seq& all) {
  std::vector<Expr> common;
  for (size_t n = 0; n < all.stmts.size(); ++n) {
    const If* i = guarded(all.stmts[n]);
    if (!i) return seq(all.stmts);
    const std::vector<Expr> here = conjuncts(i->cond);
    if (n == 0) {
      std::copy_if(here.begin(), here.end(), std::back_inserter(common), [](const Expr& c) { return !has_load(c); });
      continue;
    }
    std::erase_if(common, [&](const Expr& c) { return !among(c, here); });
  }
  if (common.empty()) return seq(all.stmts);
  std::vector<Stmt> inside;
  for (const Stmt& s : all.stmts) {
    std::vector<Expr> left = conjuncts(guarded(s)->cond);
    std::erase_if(left, [&](const Expr& c) { return among(c, common); });
    inside.push_back(left.empty() ? guarded(s)->then : if_then(conjunction(left), guarded(s)->then));
  }
  return if_then(conjunction(common), seq(std::move(inside)));
}

// What a condition asks of one variable where all others are as suits it.
std::optional<OnVariable> at_best(const Expr& condition, const Var& var, const Ranges& around, const Bounds& inner) {
  if (!uses_var(condition, var)) return std::nullopt;  // as of most: in a deep nest each loop stands around many
  auto asked = solve(condition, var);
  if (!asked) return std::nullopt;
  Interval rest = Interval::point(asked->rest.constant);
  for (const Term& t : asked->rest.terms) {
    const Interval values = uses_any(t.atom, inner) ? interval_of(t.atom, inner) : around.of(t.atom);
    rest = rest + scaled(values, t.factor);
  }
  if (rest.lo == Interval::kNegInf) return std::nullopt;
  asked->rest = Linear::point(rest.lo);
  return asked;
}

// Narrows a loop to the iterations from the first to the last in which `s` does something; its extent is a constant.
void take_in_all(const Stmt& s, const For& f, const Ranges& ranges, Bounds& inner, Span& span) {
  if (const If* i = guarded(s)) {
    for (const Expr& c : conjuncts(i->cond)) take_in(at_best(c, f.var, ranges, inner), f, ranges, span);
    take_in_all(i->then, f, ranges, inner, span);
  } else if (const auto* below = as<For>(s)) {
    const auto extent = as_int(below->extent);
    inner[below->var.id()] = extent ? Interval{0, *extent - 1} : Interval::everything();
    take_in_all(below->body, f, ranges, inner, span);
  } else if (const auto* a = as<Allocate>(s)) {
    take_in_all(a->body, f, ranges, inner, span);
  } else if (const auto* all = as<Seq>(s)) {
    const int64_t extent = *as_int(span.extent);
    int64_t first = span.first + extent, end = span.first;
    for (size_t n = 0; n < all->stmts.size() && end - first < extent; ++n) {
      Span of_one = span;
      take_in_all(all->stmts[n], f, ranges, inner, of_one);
      if (is_int(of_one.extent, 0)) continue;
      first = std::min(first, of_one.first);
      end = std::max(end, of_one.first + *as_int(of_one.extent));
    }
    span = end > first ? Span{end - first, first} : Span{0, span.first};
  }
}

// kGuard, and kMask where the loop has lanes to mask.
bool keeps_guards(const For& f) {
  return f.tail == Tail::kGuard || (f.tail == Tail::kMask && f.kind == ForKind::kVectorized);
}

}  // namespace

For tightened(const For& f, const Ranges& ranges) {
  if (keeps_guards(f) || !as_int(f.extent)) return f;
  Span span{f.extent};
  For constant = f;
  constant.kind = ForKind::kVectorized;  // constant extents only
  Bounds inner;
  take_in_all(f.body, constant, ranges, inner, span);
  if (span.extent.same_as(f.extent) || (span.first == 0 && as_int(span.extent) == as_int(f.extent))) return f;
  For out = f;
  out.extent = span.extent;
  if (span.first) {
    out.var = Var(f.var.name());
    out.body = substitute(f.body, {{f.var.id(), add(out.var, span.first)}});
  }
  return out;
}

Stmt with_exact_symbolic_extents(const Stmt& s, const Bounds& scalars) {
  Ranges ranges;
  ranges.set(scalars);
  const auto on_stmt = [&](const Stmt& at) {
    const auto* f = as<For>(at);
    const If* i = f ? guarded(f->body) : nullptr;
    if (!i || as_int(f->extent) || f->kind != ForKind::kSerial || keeps_guards(*f)) return at;
    Span span{f->extent};
    std::vector<Expr> inside;
    for (const Expr& c : conjuncts(i->cond))
      if (has_load(c) || !uses_var(c, f->var) || !take_in(solve(c, f->var), *f, ranges, span)) inside.push_back(c);
    if (span.first != 0 || span.extent.same_as(f->extent)) return at;
    return loop(f->var, span.extent, inside.empty() ? i->then : if_then(conjunction(inside), i->then), f->kind,
                f->tail);
  };
  return rewrite(s, on_stmt, [](const Expr& e) { return e; });
}

Stmt with_common_guard(const Stmt& s) {
  if (const auto* all = as<Seq>(s)) return all->stmts.size() > 1 ? guarded_sequence(*all) : s;
  if (const auto* a = as<Allocate>(s)) {
    const If* i = guarded(a->body);
    return i && !has_load(i->cond) ? if_then(i->cond, allocate(a->buffer, i->then)) : s;
  }
  if (const If* outer = guarded(s))
    if (const If* inner = guarded(outer->then)) return if_then(both(outer->cond, inner->cond), inner->then);
  return s;
}

Stmt with_exact_extent(const For& f, const Stmt& body, const Ranges& ranges, const std::vector<Var>& threads) {
  const auto on_threads = [&](const Expr& c) {
    return std::ranges::any_of(threads, [&](const Var& thread) { return uses_var(c, thread); });
  };
  const If* i = guarded(body);
  if (const auto* all = as<Seq>(body); all && all->stmts.empty()) return body;
  if (!i) return loop(f.var, f.extent, body, f.kind);
  std::vector<Expr> outside, inside;
  Span span{f.extent};
  for (const Expr& c : conjuncts(i->cond)) {
    if (!has_load(c) && !uses_var(c, f.var))
      outside.push_back(c);
    else if (keeps_guards(f) || on_threads(c) || !take_in(solve(c, f.var), f, ranges, span))
      inside.push_back(c);
  }
  Stmt inner = inside.empty() ? i->then : if_then(conjunction(inside), i->then);
  if (span.first) inner = substitute(inner, {{f.var.id(), add(f.var, span.first)}});
  const Stmt out = is_int(span.extent, 0) ? seq({}) : loop(f.var, span.extent, inner, f.kind);
  return outside.empty() ? out : if_then(conjunction(outside), out);
}

}  // namespace tw::lower
