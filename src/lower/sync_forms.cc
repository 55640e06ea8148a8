#include "src/lower/sync_forms.h"

#include <algorithm>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"

namespace tw::lower {

using namespace ir;

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
  return a.buffer == b.buffer && std::ranges::equal(a.at, b.at, ExprEqual()) &&
         std::ranges::equal(a.conditions, b.conditions, ExprEqual()) && std::ranges::equal(a.own, b.own, same);
}

}  // namespace tw::lower
