#include "te/index_overflow.h"

#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"

namespace tw::te {

namespace {

Expr wrapping(const Expr& e) {
  if (!e.type().is_index()) return e;
  if (const auto* c = ir::as<ir::IntImm>(e)) return ir::imm(ir::Type::i(64), c->value);
  if (const auto* c = ir::as<ir::Cast>(e)) return ir::cast(ir::Type::i(64), c->value);
  if (const auto* b = ir::as<ir::Binary>(e)) return ir::binary(b->op, wrapping(b->a), wrapping(b->b));
  if (const auto* s = ir::as<ir::Select>(e)) return ir::select(s->cond, wrapping(s->yes), wrapping(s->no));
  return ir::cast(ir::Type::i(64), e);
}

bool has_variable(const Expr& e) {
  bool found = false;
  ir::walk(e, [&](const Expr& x) {
    const auto* v = ir::as<ir::VarRef>(x);
    found = found || (v && !is_scalar(v->var)) || ir::as<ir::Load>(x);
    return !found;
  });
  return found;
}

}  // namespace

bool may_overflow(const Expr& at, const ir::Bounds& ranges) {
  bool found = false;
  ir::walk(at, [&](const Expr& e) {
    const auto* b = ir::as<ir::Binary>(e);
    if (!b || !e.type().is_index()) return !ir::as<ir::Load>(e);
    const ir::Interval range = ir::apply(b->op, ir::interval_of(b->a, ranges), ir::interval_of(b->b, ranges));
    const bool product = b->op == ir::BinOp::kMul && has_variable(b->a) && has_variable(b->b);
    const bool constant = ir::as_int(b->a) || ir::as_int(b->b) || b->op != ir::BinOp::kMul;
    const bool known = ir::interval_of(b->a, ranges).bounded() && ir::interval_of(b->b, ranges).bounded();
    found = found || (!range.bounded() && (product || (known && constant)));
    return !found;
  });
  return found;
}

Expr wrapped_index(const Expr& at) {
  if (const auto* r = ir::as<ir::Ramp>(at)) return ir::ramp(wrapped_index(r->base), r->stride, r->lanes);
  return ir::cast(ir::Type::index(), wrapping(at));
}

}  // namespace tw::te
