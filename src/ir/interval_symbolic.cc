// Symbolic intervals: the smallest and largest value of an expression while some variables run and others stand still.
//
// The expression is taken as a sum. Terms without running variables go into both ends unchanged, so that they cancel in
// hi - lo; a running variable contributes 0 and factor * (extent - 1); quotients, minima and selects contribute their
// ends. For (B + [0, w]) / c with B standing still, the high end is the low end plus the most that w can add: B's
// remainder is at most c - u + r where u divides every factor of B and c, so hi - lo stays a number even when B / c is
// not aligned.

#include <numeric>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

using Extents = std::unordered_map<uint64_t, Expr>;

class Symbolic {
 public:
  Symbolic(const Extents& extents, Simplifier& simplifier) : extents_(extents), simplifier_(simplifier) {}

  SymbolicInterval of(const Expr& e) {
    if (!runs(e)) return {e, e, true};
    if (!e.type().is_index() || !e.type().is_scalar()) return numeric(e);
    if (const SymbolicInterval* known = memo_.find(e)) return *known;
    SymbolicInterval ends = sum(decompose(e));
    if (!ends.known) ends = numeric(e);
    memo_.insert(e, ends);
    return ends;
  }

 private:
  bool runs(const Expr& e) {
    if (as<IntImm>(e)) return false;
    if (const auto* v = as<VarRef>(e)) return extents_.count(v->var.id()) != 0;
    for (uint64_t id : used_vars(e))
      if (extents_.count(id)) return true;
    return false;
  }

  // Constant ends, from the ranges of all variables. Those that say how large an extent may be at all are no ends.
  SymbolicInterval numeric(const Expr& e) {
    constexpr int64_t kFar = int64_t{1} << 40;
    const Interval range = simplifier_.interval(e);
    if (range.lo < -kFar || range.hi > kFar) return {e, e, false};
    return {Expr(range.lo), Expr(range.hi), true};
  }

  SymbolicInterval sum(const Linear& form) {
    Linear lo = Linear::point(form.constant), hi = lo;
    lo.overflow = hi.overflow = form.overflow;
    for (const Term& t : form.terms) {
      const SymbolicInterval ends = runs(t.atom) ? atom(t.atom) : SymbolicInterval{t.atom, t.atom, true};
      if (!ends.known) return {{}, {}, false};
      decompose(t.factor > 0 ? ends.lo : ends.hi, t.factor, lo);
      decompose(t.factor > 0 ? ends.hi : ends.lo, t.factor, hi);
    }
    lo.normalise();
    hi.normalise();
    if (lo.overflow || hi.overflow) return {{}, {}, false};
    return {simplifier_.expr(build(lo, 1)), simplifier_.expr(build(hi, 1)), true};
  }

  SymbolicInterval atom(const Expr& e) {
    if (const auto* v = as<VarRef>(e)) return variable(v->var);
    if (const auto* s = as<Select>(e)) {
      const SymbolicInterval yes = of(s->yes), no = of(s->no);
      return {extremum(BinOp::kMin, yes.lo, no.lo), extremum(BinOp::kMax, yes.hi, no.hi), yes.known && no.known};
    }
    const auto* b = as<Binary>(e);
    if (!b) return numeric(e);
    switch (b->op) {
      case BinOp::kMin:
      case BinOp::kMax: {
        const SymbolicInterval left = of(b->a), right = of(b->b);
        return {extremum(b->op, left.lo, right.lo), extremum(b->op, left.hi, right.hi), left.known && right.known};
      }
      case BinOp::kFloorDiv:
        if (auto c = as_int(b->b); c && *c > 0) return quotient(of(b->a), *c);
        return numeric(e);
      case BinOp::kFloorMod:
        if (auto c = as_int(b->b); c && *c > 0) return remainder(of(b->a), *c);
        return numeric(e);
      case BinOp::kMul:
        return product(e, *b);
      default:
        return numeric(e);
    }
  }

  SymbolicInterval variable(const Var& v) {
    const SymbolicInterval extent = of(simplifier_.expr(extents_.at(v.id())));
    if (!extent.known) return {{}, {}, false};
    return {Expr(0), simplifier_.make(BinOp::kSub, extent.hi, Expr(1)), true};
  }

  SymbolicInterval quotient(const SymbolicInterval& n, int64_t c) {
    if (!n.known) return n;
    const Expr by(c), lo = divided(BinOp::kFloorDiv, n.lo, by), hi = divided(BinOp::kFloorDiv, n.hi, by);
    const Linear width = decompose(n.hi) - decompose(n.lo);
    if (!width.is_constant() || (decompose(hi) - decompose(lo)).is_constant()) return {lo, hi, true};
    const Linear base = decompose(n.lo);
    int64_t unit = c;
    for (const Term& t : base.terms) unit = std::gcd(unit, t.factor);
    const int64_t largest_remainder = c - unit + floor_mod(base.constant, unit);
    const Expr most(floor_div(largest_remainder + width.constant, c));
    return {lo, simplifier_.make(BinOp::kAdd, lo, most), true};
  }

  SymbolicInterval remainder(const SymbolicInterval& n, int64_t c) {
    const SymbolicInterval whole{Expr(0), Expr(c - 1), true};
    if (!n.known) return whole;
    const Expr by(c);
    const Linear low = decompose(divided(BinOp::kFloorDiv, n.lo, by)),
                 high = decompose(divided(BinOp::kFloorDiv, n.hi, by));
    const Linear apart = high - low;
    if (!apart.is_constant() || apart.constant != 0) return whole;
    return {divided(BinOp::kFloorMod, n.lo, by), divided(BinOp::kFloorMod, n.hi, by), true};
  }

  // x * y with a running x and a y that stands still and has a known sign.
  SymbolicInterval product(const Expr& e, const Binary& b) {
    const bool a_runs = runs(b.a);
    if (a_runs && runs(b.b)) return numeric(e);
    const SymbolicInterval moving = of(a_runs ? b.a : b.b);
    const Expr& still = a_runs ? b.b : b.a;
    const Interval sign = simplifier_.interval(still);
    if (!moving.known || (sign.lo < 0 && sign.hi > 0)) return numeric(e);
    const Expr at_lo = simplifier_.make(BinOp::kMul, moving.lo, still),
               at_hi = simplifier_.make(BinOp::kMul, moving.hi, still);
    return sign.lo >= 0 ? SymbolicInterval{at_lo, at_hi, true} : SymbolicInterval{at_hi, at_lo, true};
  }

  Expr divided(BinOp op, const Expr& a, const Expr& b) { return simplifier_.make(op, a, b); }

  // Empty when an end is unknown.
  Expr extremum(BinOp op, const Expr& a, const Expr& b) {
    const bool known = static_cast<bool>(a) && static_cast<bool>(b);
    return known ? simplifier_.make(op, a, b) : Expr();
  }

  const Extents& extents_;
  Simplifier& simplifier_;
  Memo<SymbolicInterval> memo_;
};

}  // namespace

SymbolicInterval symbolic_interval(const Expr& e, const Extents& inner_extents, const Bounds& outer) {
  Bounds all = outer;
  for (const auto& [id, extent] : inner_extents) {
    const Interval times = interval_of(extent, outer);
    all[id] = {0, shifted(times, -1).hi};
  }
  Simplifier simplifier(all);
  Symbolic symbolic(inner_extents, simplifier);
  const Expr simplified = simplifier.expr(e);
  const SymbolicInterval out = symbolic.of(simplified);
  if (out.known) return out;
  return {simplified, simplified, false};
}

}  // namespace tw::ir
