// Quotients and remainders by what is no number, put together again: the subscript of a fused loop as one number.
//
//   u * (x / y + c) * y + u * (x % y)  =  u * x + u * c * y        where y is not 0

#include <algorithm>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"

namespace tw::ir {
namespace {

using Factors = std::vector<Expr>;

// Factors that are no numbers; of a broadcast those of its value.
void collect(const Expr& e, Factors& out) {
  if (const auto* same = as<Broadcast>(e)) return collect(same->value, out);
  const auto* b = as<Binary>(e);
  if (!b || b->op != BinOp::kMul || as_int(b->b)) return out.push_back(e);
  collect(b->a, out);
  collect(b->b, out);
}

Factors factors_of(const Expr& e) {
  Factors out;
  collect(e, out);
  return out;
}

// What `all` has besides `some`; empty also where it lacks one of them.
Factors without(Factors all, const Factors& some) {
  for (const Expr& one : some) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const Expr& e) { return identical(e, one); });
    if (at == all.end()) return {};
    all.erase(at);
  }
  return all;
}

const Binary* remainder_by_variable(const Expr& e) {
  const auto* b = as<Binary>(e);
  return b && b->op == BinOp::kFloorMod && !as_int(b->b) ? b : nullptr;
}

}  // namespace

bool Simplifier::recombine_product(Linear& form, size_t i) {
  const Term mod = form.terms[i];
  const auto* b = as<Binary>(mod.atom);
  if (!b || (b->op != BinOp::kMul && b->op != BinOp::kFloorMod)) return false;
  const auto times = [&](Expr value, const Factors& factors) {
    for (const Expr& factor : factors) {
      const int lanes = std::max(value.type().lanes, factor.type().lanes);
      const auto wide = [&](const Expr& e) { return e.type().lanes == lanes ? e : broadcast(e, lanes); };
      value = is_int(value, 1) ? factor : product(wide(value), wide(factor));
    }
    return value;
  };
  const Factors all = factors_of(mod.atom);
  for (const Expr& one : all) {
    const Binary* r = remainder_by_variable(one);
    if (!r || interval(r->b).lo < 1) continue;
    const Factors unit = without(all, {one});
    Factors of_quotient = factors_of(r->b);
    of_quotient.insert(of_quotient.end(), unit.begin(), unit.end());
    const Linear quotient = decompose(make(BinOp::kFloorDiv, r->a, r->b));
    for (size_t j = 0; j < form.terms.size(); ++j) {
      if (j == i || form.terms[j].factor != mod.factor) continue;
      const Term partner = form.terms[j];
      const Factors left = without(factors_of(partner.atom), of_quotient);
      if (left.size() != 1) continue;
      const Linear more = decompose(left[0]) - quotient;
      if (!more.is_constant()) continue;
      form.add(mod.atom, -mod.factor);
      form.add(partner.atom, -partner.factor);
      form.add(decompose(times(r->a, unit)), mod.factor);
      Linear whole;
      whole.add(decompose(times(1, of_quotient)), more.constant);
      form.add(whole, mod.factor);
      form.normalise();
      return true;
    }
  }
  return false;
}

}  // namespace tw::ir
