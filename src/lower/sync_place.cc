#include "src/lower/sync_place.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace tw::lower {

using namespace ir;

namespace {
constexpr int64_t kRowsOfAPair = 400;  // what it takes before its system stands
}

// What two accesses do follows from the difference of their constants, unless these say which elements share a byte, or
// one has an offset for its subscripts.
const Verdict& Verdicts::of(const Touched& a, const Touched& b, const LaunchIndices& launch, Apart apart,
                            const std::unordered_set<uint64_t>& changing) {
  const std::vector<int64_t>&from = a.form.constants, &to = b.form.constants;
  std::vector<int64_t> key{static_cast<int64_t>(apart), static_cast<int64_t>(a.form.number),
                           static_cast<int64_t>(b.form.number)};
  if (a.buffer.element().is_packed() || from.size() != to.size()) {
    key.insert(key.end(), from.begin(), from.end());
    key.insert(key.end(), to.begin(), to.end());
  } else {
    std::ranges::transform(to, from, std::back_inserter(key), std::minus());
  }
  auto [known, fresh] = known_.try_emplace(std::move(key));
  if (fresh) rows_ += (known->second = meeting(a, b, launch, apart, changing)).rows + kRowsOfAPair;
  return known->second;
}

Expr lane_of(const Expr& e, const Expr& lane) {
  if (e.type().is_scalar()) return e;
  if (const auto* r = as<Ramp>(e)) return r->base + r->stride * cast(r->base.type(), lane);
  if (const auto* b = as<Broadcast>(e)) return b->value;
  if (const auto* n = as<Not>(e)) return logical_not(lane_of(n->a, lane));
  if (const auto* b = as<Binary>(e)) return binary(b->op, lane_of(b->a, lane), lane_of(b->b, lane));
  if (const auto* s = as<Select>(e)) return select(lane_of(s->cond, lane), lane_of(s->yes, lane), lane_of(s->no, lane));
  if (const auto* c = as<Cast>(e)) return cast(e.type().element(), lane_of(c->value, lane));
  if (const auto* l = as<Load>(e); l && !l->pred) {
    std::vector<Expr> at;
    for (const Expr& subscript : l->at) at.push_back(lane_of(subscript, lane));
    return load(l->buffer, at);
  }
  return load(Buffer("unknown", e.type().element(), {Expr(1)}, Scope::kLocal), {Expr(0)});  // of each thread another
}

}  // namespace tw::lower
