// Intervals of simplified expressions, and the public questions about them.

#include <algorithm>
#include <utility>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"

namespace tw::ir {
namespace {

constexpr int kSubstitutions = 5;    // how many minima and quotients of one sum are looked into, one after the other
constexpr int kEffort = 100;         // and how often, for one end
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
      [&](const Cast& c) {
        if (c.value.type().is_float()) return interval_of_rounded(c.value, e.type());
        const Interval values = interval(c.value);
        const bool sign_lost = c.value.type().is_uint() && c.value.type().bits == 64 && !values.bounded();
        return sign_lost ? all : wrapped(values, e.type());
      },
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
      [&](const Reduce&) { return all; }, [&](const CallExtern&) { return all; }, [&](const Address&) { return all; });
}

Interval Simplifier::interval(const Linear& form) {
  if (form.overflow) return Interval::everything();
  if (form.terms.size() == 1) return shifted(scaled(interval(form.terms[0].atom), form.terms[0].factor), form.constant);
  Linear negated;
  negated.add(form, -1);
  int below_effort = kEffort, above_effort = kEffort;
  const int64_t below = upper_end(negated, kSubstitutions, below_effort);
  const bool unknown = below == Interval::kPosInf || below == Interval::kNegInf;
  return {unknown ? Interval::kNegInf : -below, upper_end(form, kSubstitutions, above_effort)};
}

namespace {

const Binary* division_by_constant(const Expr& e, BinOp op) {
  const auto* b = as<Binary>(e);
  const auto by = b && b->op == op ? as_int(b->b) : std::nullopt;
  return by && *by > 1 && *by < (int64_t{1} << 31) ? b : nullptr;
}

// What a term of a sum is for the sum's upper end.
enum class Role { kPlain, kRemainder, kQuotient, kSmallerOf, kEitherOf };

Role role_of(const Term& t) {
  const auto* b = as<Binary>(t.atom);
  if (as<Select>(t.atom)) return Role::kEitherOf;
  if (b && (b->op == BinOp::kMin || b->op == BinOp::kMax))
    return (b->op == BinOp::kMin) == (t.factor > 0) ? Role::kSmallerOf : Role::kEitherOf;
  if (division_by_constant(t.atom, BinOp::kFloorDiv)) return Role::kQuotient;
  return division_by_constant(t.atom, BinOp::kFloorMod) && t.factor > 0 ? Role::kRemainder : Role::kPlain;
}

}  // namespace

// The sum of the terms' ends, cut with what follows when a term is looked into, so that its parts cancel against the
// rest: either arm of a choice is covered; each arm of a minimum is a bound, and which one to try first matters where a
// choice hides in an arm; x / c is at most x / c without rounding, and x % c at most x.
int64_t Simplifier::upper_end(const Linear& form, int substitutions, int& effort) {
  Interval plain = Interval::point(form.constant);
  Role role = Role::kPlain;
  for (const Term& t : form.terms) {
    plain = plain + scaled(interval(t.atom), t.factor);
    role = std::max(role, role_of(t));
  }
  if (substitutions == 0 || --effort < 0 || role == Role::kPlain || form.terms.size() < 2 ||
      form.terms.size() > kLargestForm)
    return plain.hi;
  int64_t out = plain.hi;
  for (const Term& t : form.terms) {
    if (role_of(t) != role) continue;
    out = std::min(out, upper_end_inside(form, t, substitutions - 1, effort));
    if (role != Role::kSmallerOf) break;
  }
  return out;
}

int64_t Simplifier::upper_end_inside(const Linear& form, const Term& term, int substitutions, int& effort) {
  const auto& [atom, factor] = term;
  auto with = [&](const Expr& arm, int64_t times) {  // of times * (form - term) + factor * arm
    Linear replaced;
    int64_t without;
    if (__builtin_mul_overflow(-factor, times, &without)) return Interval::kPosInf;
    replaced.add(form, times);
    replaced.add(atom, without);
    decompose(arm, factor, replaced);
    replaced.normalise();
    return replaced.overflow ? Interval::kPosInf : upper_end(replaced, substitutions, effort);
  };
  const auto* s = as<Select>(atom);
  const auto* b = as<Binary>(atom);
  switch (role_of(term)) {
    case Role::kPlain:
      return Interval::kPosInf;
    case Role::kEitherOf:
      return std::max(with(s ? s->yes : b->a, 1), with(s ? s->no : b->b, 1));
    case Role::kSmallerOf:
      return std::min(with(b->a, 1), with(b->b, 1));
    case Role::kQuotient: {
      // by * form = by * rest + factor * (x - x % by), where -factor * (x % by) is at most 0 or -factor * (by - 1).
      const int64_t by = *as_int(b->b), times = with(b->a, by);
      if (times == Interval::kPosInf) return times;
      return floor_div(shifted(scaled({0, by - 1}, -factor), times).hi, by);
    }
    case Role::kRemainder:
      return interval(b->a).lo >= 0 ? with(b->a, 1) : Interval::kPosInf;
  }
  return Interval::kPosInf;
}

Interval interval_of(const Expr& e, const Bounds& bounds) {
  Simplifier simplifier(bounds);
  return simplifier.interval(simplifier.expr(e));
}

bool can_prove(const Expr& condition, const Bounds& bounds) { return is_int(Simplifier(bounds).expr(condition), 1); }

bool can_disprove(const Expr& condition, const Bounds& bounds) { return is_int(Simplifier(bounds).expr(condition), 0); }

Bounds bounds_where(const Expr& condition, const Bounds& bounds) { return Simplifier(bounds).where(condition); }

BoundsInside::BoundsInside(Bounds& bounds, const Expr& extent) : bounds_(bounds) {
  if (!as_int(extent)) outside_ = std::exchange(bounds, bounds_where(Expr(0) < extent, bounds));
}

BoundsInside::~BoundsInside() {
  if (outside_) bounds_ = std::move(*outside_);
}

}  // namespace tw::ir
