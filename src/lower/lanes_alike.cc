#include "src/lower/lanes_alike.h"

#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

Expr of_all_lanes(const Expr& condition, const Var& lane, int64_t lanes, Bounds ranges) {
  ranges[lane.id()] = {0, lanes - 1};
  const Expr first = substitute(condition, {{lane.id(), Expr(0)}});
  if (!uses_var(simplify(condition, ranges), lane)) return first;
  const auto* b = as<Binary>(condition);
  if (!b) return {};
  if (b->op == BinOp::kAnd || b->op == BinOp::kOr) {
    const Expr left = of_all_lanes(b->a, lane, lanes, ranges), right = of_all_lanes(b->b, lane, lanes, ranges);
    return !!left && !!right ? binary(b->op, left, right) : Expr();
  }
  const bool from = b->op == BinOp::kLt || b->op == BinOp::kGe, past = b->op == BinOp::kLe || b->op == BinOp::kGt;
  if (!b->a.type().is_index() || !(from || past)) return {};
  const Expr apart = b->a - b->b - Expr(past ? 1 : 0);
  return uses_var(simplify(floordiv(apart, Expr(lanes)), ranges), lane) ? Expr() : first;
}

}  // namespace tw::lower
