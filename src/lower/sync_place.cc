#include "src/lower/sync_place.h"

namespace tw::lower {

using namespace ir;

Expr lane_of(const Expr& e, const Expr& lane) {
  if (e.type().is_scalar()) return e;
  if (const auto* r = as<Ramp>(e)) return r->base + r->stride * cast(r->base.type(), lane);
  if (const auto* b = as<Broadcast>(e)) return b->value;
  if (const auto* n = as<Not>(e)) return logical_not(lane_of(n->a, lane));
  if (const auto* b = as<Binary>(e)) return binary(b->op, lane_of(b->a, lane), lane_of(b->b, lane));
  if (const auto* s = as<Select>(e)) return select(lane_of(s->cond, lane), lane_of(s->yes, lane), lane_of(s->no, lane));
  return Var("unknown", e.type().element());
}

}  // namespace tw::lower
