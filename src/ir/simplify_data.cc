// Data and bools: constants folded, rules of the table, and what is the same in all lanes done once.

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/simplify_fold.h"
#include "src/ir/simplify_pattern.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

bool is_constant(const Expr& e) { return as<IntImm>(e) || as<FloatImm>(e); }

void flatten(const Expr& e, std::vector<Expr>& conjuncts) {
  const auto* b = as<Binary>(e);
  if (!b || b->op != BinOp::kAnd) return conjuncts.push_back(e);
  flatten(b->a, conjuncts);
  flatten(b->b, conjuncts);
}

// The index comparison `e` as form < 0.
std::optional<Linear> as_negative(const Expr& e) {
  const auto* b = as<Binary>(e);
  if (!b || b->op != BinOp::kLt || !b->a.type().is_index()) return std::nullopt;
  return decompose(b->a) - decompose(b->b);
}

}  // namespace

Expr Simplifier::make_data(BinOp op, const Expr& a, const Expr& b) {
  const auto *ba = as<Broadcast>(a), *bb = as<Broadcast>(b);
  if (ba && bb && ba->lanes == bb->lanes) return broadcast(make(op, ba->value, bb->value), ba->lanes);
  if (is_constant(a) && is_constant(b)) {
    if (Expr folded = fold(op, a, b)) return folded;
  }
  const Expr e = binary(op, a, b);
  const auto& rules = data_rules(*e);
  if (!rules.empty()) {
    if (Expr ruled = apply_first(rules, e, *this)) return ruled;
  }
  if (op == BinOp::kOr && covers_all(a, b)) return int_imm(e.type(), 1);
  return op == BinOp::kAnd ? without_implied(e) : e;
}

// Whether one of two index comparisons always holds: where a does not, form_a >= 0, and form_b is below form_a +
// form_b.
bool Simplifier::covers_all(const Expr& a, const Expr& b) {
  const auto form_a = as_negative(a), form_b = as_negative(b);
  return form_a && form_b && interval(*form_a + *form_b).hi < 0;
}

// Drops index comparisons that an earlier conjunct implies (a later one too, when no load depends on being guarded),
// and finds conjunctions that nothing satisfies.
Expr Simplifier::without_implied(const Expr& e) {
  std::vector<Expr> conjuncts;
  flatten(e, conjuncts);
  if (conjuncts.size() > 16) return e;
  std::vector<std::optional<Linear>> forms;
  for (const Expr& c : conjuncts) forms.push_back(as_negative(c));
  const bool any_load = std::any_of(conjuncts.begin(), conjuncts.end(), has_load);
  std::vector<bool> dropped(conjuncts.size(), false);
  for (size_t i = 0; i < conjuncts.size(); ++i) {
    for (size_t j = 0; forms[i] && j < conjuncts.size() && !dropped[i]; ++j) {
      if (i == j || !forms[j] || dropped[j]) continue;
      // form_j <= -1 puts form_i below its difference to form_j less one, and above minus their sum less one.
      const Interval above = interval(*forms[i] - *forms[j]), sum = interval(*forms[i] + *forms[j]);
      if (sum.lo > -2) return int_imm(e.type(), 0);
      dropped[i] = above.hi <= 0 && (j < i || !any_load);
    }
  }
  if (std::none_of(dropped.begin(), dropped.end(), [](bool d) { return d; })) return e;
  Expr out;
  for (size_t i = 0; i < conjuncts.size(); ++i)
    if (!dropped[i]) out = out ? binary(BinOp::kAnd, out, conjuncts[i]) : conjuncts[i];
  return out;
}

Expr Simplifier::make_not(const Expr& a) {
  if (auto value = as_int(a)) return int_imm(a.type(), !*value);
  if (const auto* b = as<Broadcast>(a)) return broadcast(make_not(b->value), b->lanes);
  const Expr e = logical_not(a);
  const Expr ruled = apply_first(data_rules(*e), e, *this);
  return ruled ? ruled : e;
}

Expr Simplifier::make_select(const Expr& cond, const Expr& yes, const Expr& no) {
  const auto *c = as<Broadcast>(cond), *y = as<Broadcast>(yes), *n = as<Broadcast>(no);
  if (c && y && n) return broadcast(make_select(c->value, y->value, n->value), c->lanes);
  const Expr e = select(cond, yes, no);
  const Expr ruled = apply_first(e.type().is_index() ? index_rules(*e) : data_rules(*e), e, *this);
  return ruled ? ruled : e;
}

Expr Simplifier::make_cast(Type to, const Expr& value) {
  if (value.type() == to) return value;
  if (const auto* b = as<Broadcast>(value)) return broadcast(make_cast(to.element(), b->value), b->lanes);
  if (is_constant(value)) {
    if (Expr folded = fold_cast(to, value)) return folded;
  }
  const auto* inner = as<Cast>(value);
  if (!inner) return cast(to, value);
  const Type middle = value.type(), from = inner->value.type();
  if (!from.is_float() && !from.is_float8() && middle.is_integer() && !to.is_bool()) {
    const Interval values = interval(inner->value), held = range_of(middle);
    const bool fits = middle.is_index() || (values.bounded() && values.lo >= held.lo && values.hi <= held.hi);
    const bool sign_kept = !(from.is_uint() && from.bits == 64);
    if (fits && sign_kept) return make_cast(to, inner->value);
  }
  const bool widened =
      from.is_float() && middle.is_float() && (middle.bits == 64 || (middle.bits == 32 && from.bits == 16));
  return widened && to == from ? inner->value : cast(to, value);
}

Expr Simplifier::make_call(const Expr& e, const Call& call) {
  std::vector<Expr> args;
  bool changed = false, broadcasts = true;
  for (const Expr& arg : call.args) {
    args.push_back(expr(arg));
    changed |= !args.back().same_as(arg);
    broadcasts &= as<Broadcast>(args.back()) != nullptr;
  }
  auto rebuilt = [](Type type, Fn fn, std::vector<Expr> with) {
    if (fn == Fn::kReinterpret) return reinterpret(type, with[0]);
    const Call folded{fn, with};
    const Expr constant = fold_call(folded, type);
    return constant ? constant : ir::call(fn, std::move(with));
  };
  if (broadcasts && !e.type().is_scalar()) {
    for (Expr& arg : args) arg = Expr(as<Broadcast>(arg)->value);
    return broadcast(rebuilt(e.type().element(), call.fn, std::move(args)), e.type().lanes);
  }
  return changed || is_constant(args[0]) ? rebuilt(e.type(), call.fn, std::move(args)) : e;
}

}  // namespace tw::ir
