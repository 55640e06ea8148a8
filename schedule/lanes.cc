#include "schedule/lanes.h"

namespace tw::schedule {

ir::Expr plus(const ir::Expr& a, const ir::Expr& b) {
  if (ir::is_int(a, 0) && a.type().is_scalar()) return b;
  if (ir::is_int(b, 0) && b.type().is_scalar()) return a;
  if (a.type() == b.type()) return a + b;
  if (a.type().is_scalar()) return plus(b, a);
  if (const auto* r = ir::as<ir::Ramp>(a)) return ir::ramp(plus(r->base, b), r->stride, r->lanes);
  return a + ir::broadcast(b, a.type().lanes);
}

ir::Expr times(const ir::Expr& a, int64_t factor) {
  if (factor == 1) return a;
  if (const auto* r = ir::as<ir::Ramp>(a)) return ir::ramp(times(r->base, factor), times(r->stride, factor), r->lanes);
  return a.type().is_scalar() ? a * ir::Expr(factor) : a * ir::broadcast(ir::Expr(factor), a.type().lanes);
}

}  // namespace tw::schedule
