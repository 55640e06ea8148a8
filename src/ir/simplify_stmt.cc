// Statements: loops give their variables ranges, conditions hold inside their bodies, what does nothing goes.

#include <algorithm>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_context.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

const Stmt& nothing() {
  static const Stmt empty = seq({});
  return empty;
}

// Whether a lower bound of it says that variables are not zero.
bool holds_product(const Expr& e) {
  const auto* b = as<Binary>(e);
  if (!b) return false;
  if (b->op == BinOp::kMul) return !as_int(b->b) || holds_product(b->a);
  if (b->op == BinOp::kFloorDiv) return as_int(b->b) && holds_product(b->a);
  const bool sum = b->op == BinOp::kAdd || b->op == BinOp::kSub || b->op == BinOp::kMin;
  return sum && (holds_product(b->a) || holds_product(b->b));
}

bool is_nothing(const Stmt& s) {
  const auto* q = as<Seq>(s);
  return !s || (q && q->stmts.empty());
}

}  // namespace

Stmt Simplifier::stmt(const Stmt& s) {
  return match(
      s, [&](const Store& n) { return simplify(n, s); }, [&](const For& n) { return simplify(n, s); },
      [&](const If& n) { return simplify(n, s); }, [&](const Seq& n) { return simplify(n, s); },
      [&](const Allocate& n) { return simplify(n, s); }, [&](const LetStmt& n) { return simplify(n, s); },
      [&](const Evaluate& n) {
        const Expr value = expr(n.value);
        return value.same_as(n.value) ? s : evaluate(value);
      },
      [&](const Sync&) { return s; });
}

Stmt Simplifier::simplify(const Store& n, const Stmt& original) {
  const Expr pred = expr(n.pred);
  if (is_int(pred, 0)) return nothing();
  std::vector<Expr> at;
  at.reserve(n.at.size());
  const Expr value = stored(n);
  bool changed = !pred.same_as(n.pred) || !value.same_as(n.value);
  for (const Expr& subscript : n.at) {
    at.push_back(expr(subscript));
    changed |= !at.back().same_as(subscript);
  }
  return changed ? store(n.buffer, std::move(at), value, is_int(pred, 1) ? Expr() : pred, n.arrival) : original;
}

// What stays as it was is read where it is written, and not where it lies too if the condition says that nothing is
// written there: lanes past the end of a loop hold no such condition.
Expr Simplifier::stored(const Store& n) {
  const auto* s = as<Select>(n.value);
  const auto is_kept = [&](const Expr& arm) {
    const auto* l = as<Load>(arm);
    return l && !l->pred && l->buffer.id() == n.buffer.id() && std::ranges::equal(l->at, n.at, identical);
  };
  const bool keeps_no = s && is_kept(s->no);
  if (!keeps_no && !(s && is_kept(s->yes))) return expr(n.value);
  const Expr cond = expr(s->cond);
  if (as_int(cond)) return expr(n.value);
  const Expr out = keeps_no ? make_select(cond, simplify_arm(s->yes, cond, true), expr(s->no))
                            : make_select(cond, expr(s->yes), simplify_arm(s->no, cond, false));
  return identical(out, n.value) ? n.value : out;
}

Stmt Simplifier::simplify(const For& n, const Stmt& original) {
  const Expr extent = expr(n.extent);
  const Interval times = interval(extent);
  if (times.hi <= 0) return nothing();
  if (times == Interval::point(1)) {
    replacements_.set(n.var.id(), Expr(0));
    if (n.kind < ForKind::kCooperative) return stmt(n.body);  // of the others the kind says who runs the body
  }
  ranges_.set(n.var.id(), {0, shifted(times, -1).hi});
  Stmt body;
  if (as_int(extent)) {
    body = stmt(n.body);
  } else {
    Scope outside = enter(Expr(n.var) < extent, true);
    body = stmt(n.body);
    leave(std::move(outside));
  }
  if (is_nothing(body)) return nothing();
  const bool changed = !extent.same_as(n.extent) || !body.same_as(n.body);
  return changed ? loop(n.var, extent, body, n.kind, n.tail) : original;
}

Stmt Simplifier::simplify(const If& n, const Stmt& original) {
  const Expr cond = expr(n.cond);
  if (auto value = as_int(cond)) return *value ? stmt(n.then) : n.otherwise ? stmt(n.otherwise) : nothing();
  auto inside = [&](const Stmt& body, bool holds) {
    if (!body) return nothing();
    Scope outside = enter(cond, holds);
    const Stmt out = stmt(body);
    leave(std::move(outside));
    return out;
  };
  const Stmt then = inside(n.then, true), otherwise = inside(n.otherwise, false);
  if (is_nothing(then)) return is_nothing(otherwise) ? nothing() : if_then(make_not(cond), otherwise);
  const bool same_else = n.otherwise ? otherwise.same_as(n.otherwise) : true;
  if (cond.same_as(n.cond) && then.same_as(n.then) && same_else) return original;
  return if_then(cond, then, is_nothing(otherwise) ? Stmt() : otherwise);
}

Stmt Simplifier::simplify(const Seq& n, const Stmt& original) {
  std::vector<Stmt> out;
  out.reserve(n.stmts.size());
  bool changed = false;
  for (const Stmt& s : n.stmts) {
    Stmt simplified = stmt(s);
    changed |= !simplified.same_as(s);
    if (!is_nothing(simplified)) out.push_back(std::move(simplified));
  }
  return changed || out.size() != n.stmts.size() ? seq(std::move(out)) : original;
}

Stmt Simplifier::simplify(const Allocate& n, const Stmt& original) {
  const Buffer buffer = map_sizes(n.buffer, [this](const Expr& size) { return expr(size); });
  const Stmt body = stmt(n.body);
  if (is_nothing(body)) return nothing();
  if (buffer.operator->() != n.buffer.operator->())
    return allocate(buffer, replace_buffers(body, {{buffer.id(), buffer}}));
  return body.same_as(n.body) ? original : allocate(n.buffer, body);
}

Stmt Simplifier::simplify(const LetStmt& n, const Stmt& original) {
  const Expr value = expr(n.value);
  if (as<IntImm>(value) || as<FloatImm>(value) || as<VarRef>(value)) {
    replacements_.set(n.var.id(), value);
    return stmt(n.body);
  }
  ranges_.set(n.var.id(), interval(value));
  const Stmt body = stmt(n.body);
  if (is_nothing(body)) return nothing();
  return value.same_as(n.value) && body.same_as(n.body) ? original : let_stmt(n.var, value, body);
}

// What was simplified outside stays valid inside, but not the other way round: inside, everything is looked at anew.
Simplifier::Scope Simplifier::enter(const Expr& condition, bool holds) {
  Scope outside{std::move(memo_),    std::move(intervals_), ranges_.now(),
                replacements_.now(), negative_.size(),      holds_.size()};
  memo_.clear();
  intervals_.clear();
  assume(condition, holds);
  return outside;
}

void Simplifier::leave(Scope outside) {
  memo_ = std::move(outside.memo);
  intervals_ = std::move(outside.intervals);
  ranges_.back_to(outside.ranges);
  replacements_.back_to(outside.replacements);
  negative_.resize(outside.negative);
  holds_.resize(outside.holds);
}

void Simplifier::assume(const Expr& condition, bool holds) {
  if (const auto* n = as<Not>(condition)) return assume(n->a, !holds);
  const auto* b = as<Binary>(condition);
  if (b && b->op == (holds ? BinOp::kAnd : BinOp::kOr)) {
    assume(b->a, holds);
    return assume(b->b, holds);
  }
  const bool index = b && b->a.type().is_index();
  if (index && b->op == BinOp::kLt) {
    Linear form = decompose(b->a) - decompose(b->b);
    if (holds) return assume_negative(form);
    Linear opposite = Linear::point(-1);
    opposite.add(form, -1);
    return assume_negative(opposite);
  }
  if (index && b->op == (holds ? BinOp::kEq : BinOp::kNe)) {
    const Linear form = decompose(b->a) - decompose(b->b);
    for (int64_t sign : {1, -1}) {
      Linear below = Linear::point(-1);
      below.add(form, sign);
      assume_negative(below);
    }
    return;
  }
  if (!has_load(condition)) holds_.push_back({condition, holds});  // memory may change inside the body
}

void Simplifier::assume_negative(const Linear& form) {
  if (form.overflow) return;
  for (const Term& t : form.terms) {
    const auto* v = as<VarRef>(t.atom);
    const auto* q = quotients_ ? as<Binary>(t.atom) : nullptr;
    const auto by = q && q->op == BinOp::kFloorDiv ? as_int(q->b) : std::nullopt;
    if (!v && !by && !(t.factor < 0 && holds_product(t.atom))) continue;
    Linear rest = form;
    rest.add(t.atom, -t.factor);
    rest.normalise();
    const Interval most = shifted(scaled(interval(rest), -1), -1);  // factor * v <= -rest - 1
    if (most.hi == Interval::kPosInf) continue;
    if (by && t.factor > 0) {
      assume_quotient_at_most(q->a, *by, floor_div(most.hi, t.factor));
      continue;
    }
    if (!v) {
      assume_at_least(t.atom, ceil_div(most.hi, t.factor));
      continue;
    }
    const Interval narrowed = t.factor > 0 ? Interval{Interval::kNegInf, floor_div(most.hi, t.factor)}
                                           : Interval{ceil_div(most.hi, t.factor), Interval::kPosInf};
    ranges_.set(v->var.id(), intersect(range_of_variable(v->var), narrowed));
    intervals_.clear();
  }
  negative_.push_back(form);
}

// x // by <= most  ==>  x < (most + 1) * by
void Simplifier::assume_quotient_at_most(const Expr& x, int64_t by, int64_t most) {
  int64_t end;
  if (by <= 0 || __builtin_add_overflow(most, 1, &end) || __builtin_mul_overflow(end, -by, &end)) return;
  Linear below = Linear::point(end);
  below.add(decompose(x), 1);
  assume_negative(below);
}

// Of a product, a quotient or a minimum: what is not zero has no factor that is.
void Simplifier::assume_at_least(const Expr& e, int64_t least) {
  const auto assume = [&](const Expr& part, int64_t at_least) {
    Linear below = Linear::point(at_least - 1);
    below.add(decompose(part), -1);
    assume_negative(below);
  };
  const auto& [op, a, b] = std::get<Binary>(e->kind);
  int64_t dividend;
  if (least < 1) return;
  if (op == BinOp::kMul && interval(a).lo >= 0 && interval(b).lo >= 0) {
    assume(a, 1);
    assume(b, 1);
  } else if (op == BinOp::kFloorDiv && *as_int(b) > 0 && !__builtin_mul_overflow(least, *as_int(b), &dividend)) {
    assume(a, dividend);
  } else if (op == BinOp::kMin) {
    assume(a, least);
    assume(b, least);
  }
}

Bounds Simplifier::where(const Expr& condition) {
  quotients_ = true;
  assume(expr(condition), true);
  Bounds out = bounds_;
  for (const auto& [id, range] : ranges_) out[id] = range;
  return out;
}

}  // namespace tw::ir
