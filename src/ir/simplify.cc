// The simplifier's way through expressions: each node once, children before parents.

#include "src/ir/simplify.h"

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

constexpr int kPlainDepth = 40;  // deeper trees go on on the deep stack; a level may hold a sum of kNodesPerForm terms

constexpr int kArmNodes = 200;

bool is_leaf(const Expr& e) {
  const auto* b = as<Broadcast>(e);
  const Expr& inner = b ? b->value : e;
  return as<IntImm>(inner) || as<FloatImm>(inner);
}

bool is_small_and_free_of_lets(const Expr& e) {
  int nodes = 0;
  walk(e, [&](const Expr& at) {
    nodes += as<Let>(at) || as<Reduce>(at) ? kArmNodes : 1;
    return nodes < kArmNodes;
  });
  return nodes < kArmNodes;
}

const Binary* summed(const Expr& e) {
  const auto* b = as<Binary>(e);
  return b && (b->op == BinOp::kAdd || b->op == BinOp::kSub || b->op == BinOp::kMul) ? b : nullptr;
}

// One more term after a sum.
const Binary* appended(const Expr& e) {
  const Binary* b = summed(e);
  return b && !summed(b->b) ? b : nullptr;
}

// A sum whose form left 64 bits, as it stands. Its prefixes are no sums of their own here: most of them left 64 bits
// too, and each would be tried.
Expr with_simple_terms(Simplifier& simplifier, const Expr& sum) {
  std::vector<Expr> prefixes;
  Expr at = sum;
  for (const Binary* b = appended(at); b; b = appended(at)) {
    prefixes.push_back(at);
    at = b->a;
  }
  Expr out = simplifier.expr(at);
  for (size_t i = prefixes.size(); i-- > 0;) {
    const Binary& b = *as<Binary>(prefixes[i]);
    const Expr term = simplifier.expr(b.b);
    out = out.same_as(b.a) && term.same_as(b.b) ? prefixes[i] : binary(b.op, out, term);
  }
  return out;
}

}  // namespace

Expr Simplifier::expr(const Expr& e) {
  if (!e || is_leaf(e)) return e;
  if (const auto* v = as<VarRef>(e)) {
    if (const Expr* replacement = replacements_.find(v->var.id())) return *replacement;
    const Interval range = range_of_variable(v->var);
    return range.is_point() && e.type().is_integer() ? int_imm(e.type(), range.lo) : e;
  }
  if (const Expr* known = memo_.find(e)) return *known;
  Expr out;
  if (++depth_ % kPlainDepth == 0) {
    support::on_deep_stack([&] { out = simplify(e); });
  } else {
    out = simplify(e);
  }
  --depth_;
  if (out.type().is_bool() && !as_int(out)) {
    for (const Fact& fact : holds_)
      if (identical(fact.condition, out)) out = int_imm(out.type(), fact.holds);
  }
  if (identical(out, e)) out = e;
  if (!memo_.find(e)) memo_.insert(e, out);
  return out;
}

Expr Simplifier::simplify(const Expr& e) {
  if (e.type().is_index()) {
    const Binary* b = summed(e);
    if (b || as<Ramp>(e) || as<Broadcast>(e)) {
      const Linear form = linear(e);
      if (!form.overflow) return built(form, e.type().lanes);
      return appended(e) ? with_simple_terms(*this, e) : simplify_children(e);
    }
  }
  return match(
      e, [&](const IntImm&) { return e; }, [&](const FloatImm&) { return e; }, [&](const VarRef&) { return e; },
      [&](const Cast& c) { return make_cast(e.type(), expr(c.value)); },
      [&](const Binary& b) {
        const Expr left = expr(b.a);
        return make(b.op, left, expr(b.b));
      },
      [&](const Not& n) { return make_not(expr(n.a)); },
      [&](const Select& s) {
        const Expr cond = expr(s.cond);
        if (is_int(cond, 1)) return expr(s.yes);
        if (is_int(cond, 0)) return expr(s.no);
        const Expr yes = simplify_arm(s.yes, cond, true);
        return make_select(cond, yes, simplify_arm(s.no, cond, false));
      },
      [&](const Load& l) { return simplify_load(e, l); }, [&](const Call& c) { return make_call(e, c); },
      [&](const Ramp&) { return simplify_children(e); }, [&](const Broadcast&) { return simplify_children(e); },
      [&](const Let& l) { return simplify_let(e, l); }, [&](const Reduce& r) { return simplify_reduce(e, r); },
      [&](const CallExtern&) { return simplify_children(e); }, [&](const Address&) { return simplify_children(e); });
}

// An arm is only asked for where the condition holds (or does not): if c implies x == x', then select(c, x, y) and
// select(c, x', y) are the same, for one value of c at a time; lanes have many. What arms share is simplified anew in
// each: so only small ones, not within each other, and none that binds a variable.
Expr Simplifier::simplify_arm(const Expr& value, const Expr& cond, bool holds) {
  if (in_arm_ || is_leaf(value) || !cond.type().is_scalar() || !is_small_and_free_of_lets(value)) return expr(value);
  in_arm_ = true;
  Scope outside = enter(cond, holds);
  const Expr out = expr(value);
  leave(std::move(outside));
  in_arm_ = false;
  return out;
}

Expr Simplifier::simplify_children(const Expr& e) {
  return map_children(e, [&](const Expr& child) { return expr(child); });
}

Expr Simplifier::simplify_load(const Expr& e, const Load& l) {
  const Expr pred = expr(l.pred);
  if (is_int(pred, 0)) return zero(e.type());
  std::vector<Expr> at;
  at.reserve(l.at.size());
  bool changed = !pred.same_as(l.pred);
  for (const Expr& subscript : l.at) {
    at.push_back(expr(subscript));
    changed |= !at.back().same_as(subscript);
  }
  if (!changed) return e;
  return load(l.buffer, std::move(at), is_int(pred, 1) ? Expr() : pred);
}

// An id may be bound again elsewhere, to something else, around nodes that both places share.
bool Simplifier::rebinds(const Var& v, const Expr& replacement, Interval range) const {
  if (const Expr* known = replacements_.find(v.id())) return !replacement || !identical(*known, replacement);
  if (const Interval* known = ranges_.find(v.id())) return static_cast<bool>(replacement) || *known != range;
  return false;
}

Expr Simplifier::simplify_let(const Expr& e, const Let& l) {
  const Expr value = expr(l.value);
  const Expr replacement = is_leaf(value) || as<VarRef>(value) ? value : Expr();
  const Interval range = interval(value);
  const bool rebound = rebinds(l.var, replacement, range);
  Scope outside = rebound ? enter(boolean(true), true) : Scope();
  if (replacement) {
    replacements_.set(l.var.id(), replacement);
  } else {
    replacements_.forget(l.var.id());
  }
  ranges_.set(l.var.id(), range);
  const Expr body = expr(l.body);
  if (rebound) leave(std::move(outside));
  if (static_cast<bool>(replacement)) return body;
  return value.same_as(l.value) && body.same_as(l.body) ? e : let(l.var, value, body);
}

Expr Simplifier::simplify_reduce(const Expr& e, const Reduce& r) {
  std::vector<ReduceAxis> axes;
  std::vector<Interval> ranges;
  bool changed = false, rebound = false;
  for (const ReduceAxis& axis : r.axes) {
    const Expr first = expr(axis.min), extent = expr(axis.extent);
    changed |= !first.same_as(axis.min) || !extent.same_as(axis.extent);
    axes.push_back({axis.var, first, extent});
    ranges.push_back({interval(first).lo, shifted(interval(first) + interval(extent), -1).hi});
    rebound |= rebinds(axis.var, {}, ranges.back());
  }
  Scope outside = rebound ? enter(boolean(true), true) : Scope();
  for (size_t i = 0; i < axes.size(); ++i) ranges_.set(axes[i].var.id(), ranges[i]);
  Reduce out{r.op, {}, std::move(axes), {}, {}, r.value, r.combiner};
  for (const Expr& source : r.sources) {
    out.sources.push_back(expr(source));
    changed |= !out.sources.back().same_as(source);
  }
  if (r.where) out.where = expr(r.where);
  changed |= !out.where.same_as(r.where);
  if (rebound) leave(std::move(outside));
  for (const Expr& init : r.init) {
    out.init.push_back(expr(init));
    changed |= !out.init.back().same_as(init);
  }
  return changed ? reduce(std::move(out)) : e;
}

Expr Simplifier::make(BinOp op, const Expr& a, const Expr& b) {
  return a.type().is_index() ? make_index(op, a, b) : make_data(op, a, b);
}

Interval Simplifier::range_of_variable(const Var& v) const {
  if (const Interval* range = ranges_.find(v.id())) return *range;
  if (auto it = bounds_.find(v.id()); it != bounds_.end()) return it->second;
  return range_of(v.type());
}

Expr simplify(const Expr& e, const Bounds& bounds) { return Simplifier(bounds).expr(e); }

Stmt simplify(const Stmt& s, const Bounds& bounds) { return Simplifier(bounds).stmt(s); }

}  // namespace tw::ir
