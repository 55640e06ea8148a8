#include "src/lower/sync_forms.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"

namespace tw::lower {

using namespace ir;

namespace {

bool is_comparison(BinOp op) {
  return op == BinOp::kLt || op == BinOp::kLe || op == BinOp::kGt || op == BinOp::kGe || op == BinOp::kEq ||
         op == BinOp::kNe;
}

// What holds, or does not, says something of indices.
bool is_of_indices(const Expr& e, bool holds) {
  if (as_int(e)) return true;
  if (const auto* n = as<Not>(e)) return is_of_indices(n->a, !holds);
  const auto* b = as<Binary>(e);
  if (!b) return false;
  if (b->op != BinOp::kAnd && b->op != BinOp::kOr) return b->a.type().is_index() && is_comparison(b->op);
  const bool one = is_of_indices(b->a, holds), other = is_of_indices(b->b, holds);
  return (b->op == BinOp::kAnd) == holds ? one || other : one && other;
}

bool always_holds(const Expr& e) {
  const auto* b = as<Binary>(e);
  if (!b || !as_int(b->a) || !as_int(b->b)) return false;
  const auto value = as_int(simplify(e));
  return value && *value != 0;
}

}  // namespace

void AccessForms::reduce(Access& access) {
  std::erase_if(access.conditions, always_holds);
  const auto is_of_data = [](const Expr& condition) { return !is_of_indices(condition, true); };
  access.unsure = std::erase_if(access.conditions, is_of_data) > 0 || access.unsure;
  const auto has_no_extent = [](const OwnVariable& v) { return !v.extent; };
  if (std::ranges::none_of(access.own, has_no_extent)) return;
  std::unordered_set<uint64_t> used;
  for (const auto* all : {&access.at, &access.conditions})
    for (const Expr& e : *all) used.merge(used_vars(e));
  for (const OwnVariable& v : access.own)
    if (v.extent) used.merge(used_vars(v.extent));
  std::erase_if(access.own, [&](const OwnVariable& v) { return !v.extent && !used.contains(v.var.id()); });
}

AccessForm AccessForms::of(const Access& access, const Bounds& bounds) {
  Access form = access;
  AccessForm out{0, {}};
  uint64_t hash = access.buffer.id();
  for (Expr& at : form.at) {
    Linear sum = decompose(simplify(at, bounds));
    out.constants.push_back(sum.overflow ? 0 : sum.constant);
    if (!sum.overflow) {
      sum.constant = 0;
      at = build(sum, 1);
    }
    hash = hash * 31 + at.hash();
  }
  for (const Expr& condition : form.conditions) hash = hash * 31 + condition.hash();
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& entry) { return alike(forms_[entry.second], form); });
  if (known != last) {
    out.number = known->second;
    return out;
  }
  out.number = forms_.size();
  by_hash_.emplace(hash, out.number);
  forms_.push_back(std::move(form));
  return out;
}

bool AccessForms::alike(const Access& a, const Access& b) {
  const auto same = [](const OwnVariable& x, const OwnVariable& y) {
    return x.var == y.var && static_cast<bool>(x.extent) == static_cast<bool>(y.extent) &&
           (!x.extent || equal(x.extent, y.extent));
  };
  return a.buffer == b.buffer && a.unsure == b.unsure && std::ranges::equal(a.at, b.at, ExprEqual()) &&
         std::ranges::equal(a.conditions, b.conditions, ExprEqual()) && std::ranges::equal(a.own, b.own, same);
}

}  // namespace tw::lower
