// Intervals of simplified expressions, and the public questions about them.

#include <algorithm>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"

namespace tw::ir {
namespace {

constexpr int kSubstitutions = 2;    // how many minima and quotients of one sum are looked into at once
constexpr size_t kLargestForm = 12;  // of the sums for which that is tried

}  // namespace

Interval Simplifier::interval(const Expr& e) {
  if (const auto* c = as<IntImm>(e)) {
    const bool unknown = e.type().is_uint() && e.type().bits == 64 && c->value < 0;
    return unknown ? range_of(e.type()) : Interval::point(c->value);
  }
  if (const auto* v = as<VarRef>(e)) return range_of_variable(v->var);
  if (e.type().is_float()) return Interval::everything();
  if (const Interval* known = intervals_.find(e)) return *known;
  const Interval out = compute_interval(e);
  intervals_.insert(e, out);
  return out;
}

Interval Simplifier::compute_interval(const Expr& e) {
  const Interval all = range_of(e.type());
  return match(
      e, [&](const IntImm& c) { return Interval::point(c.value); }, [&](const FloatImm&) { return all; },
      [&](const VarRef& v) { return range_of_variable(v.var); },
      [&](const Cast& c) { return c.value.type().is_float() ? all : wrapped(interval(c.value), e.type()); },
      [&](const Binary& b) {
        const bool sum = b.op == BinOp::kAdd || b.op == BinOp::kSub || (b.op == BinOp::kMul && as_int(b.b));
        if (e.type().is_index() && sum) return interval(decompose(e));
        if (b.a.type().is_float()) return all;
        return wrapped(apply(b.op, interval(b.a), interval(b.b)), e.type());
      },
      [&](const Not& n) { return Interval::point(1) - interval(n.a); },
      [&](const Select& s) { return join(interval(s.yes), interval(s.no)); }, [&](const Load&) { return all; },
      [&](const Call&) { return all; },
      [&](const Ramp& r) {
        return wrapped(interval(r.base) + interval(r.stride) * Interval{0, r.lanes - 1}, e.type());
      },
      [&](const Broadcast& b) { return interval(b.value); },
      [&](const Let&) { return all; } /* the variable's range is known inside only */,
      [&](const Reduce&) { return all; });
}

Interval Simplifier::interval(const Linear& form) {
  return form.overflow ? Interval::everything() : interval_of_sum(form, kSubstitutions);
}

// The sum of the terms' intervals, cut with what follows when a minimum, maximum or select is replaced by its arms, or
// a quotient x / c by (x - x % c) / c: there the terms of x cancel against the rest of the sum.
Interval Simplifier::interval_of_sum(const Linear& form, int substitutions) {
  Interval out = Interval::point(form.constant);
  for (const Term& t : form.terms) out = out + scaled(interval(t.atom), t.factor);
  if (substitutions == 0 || form.terms.size() < 2 || form.terms.size() > kLargestForm) return out;
  for (const Term& t : form.terms) {
    const auto* b = as<Binary>(t.atom);
    const auto* s = as<Select>(t.atom);
    auto with = [&](const Expr& arm, int64_t times) {  // times * (form - t) + factor * arm
      Linear replaced;
      replaced.add(form, times);
      replaced.add(t.atom, -t.factor * times);
      decompose(arm, t.factor, replaced);
      replaced.normalise();
      return replaced.overflow ? Interval::everything() : interval_of_sum(replaced, substitutions - 1);
    };
    if (s) out = intersect(out, join(with(s->yes, 1), with(s->no, 1)));
    if (b && (b->op == BinOp::kMin || b->op == BinOp::kMax)) {
      const Interval left = with(b->a, 1), right = with(b->b, 1);
      const bool from_above =
          (b->op == BinOp::kMin) == (t.factor > 0);  // the sum is at most, else at least, each arm's
      out = intersect(out, from_above ? Interval{std::min(left.lo, right.lo), std::min(left.hi, right.hi)}
                                      : Interval{std::max(left.lo, right.lo), std::max(left.hi, right.hi)});
    }
    const auto by = b && b->op == BinOp::kFloorDiv ? as_int(b->b) : std::nullopt;
    if (by && *by > 1 && *by < (int64_t{1} << 31)) {
      const Interval times = with(b->a, *by) - scaled({0, *by - 1}, t.factor);
      if (times.lo != Interval::kNegInf) out.lo = std::max(out.lo, ceil_div(times.lo, *by));
      if (times.hi != Interval::kPosInf) out.hi = std::min(out.hi, floor_div(times.hi, *by));
    }
  }
  return out;
}

Interval interval_of(const Expr& e, const Bounds& bounds) {
  Simplifier simplifier(bounds);
  return simplifier.interval(simplifier.expr(e));
}

bool can_prove(const Expr& condition, const Bounds& bounds) { return is_int(Simplifier(bounds).expr(condition), 1); }

bool can_disprove(const Expr& condition, const Bounds& bounds) { return is_int(Simplifier(bounds).expr(condition), 0); }

}  // namespace tw::ir
