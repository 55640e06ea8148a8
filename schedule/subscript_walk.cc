#include "schedule/subscript_walk.h"

#include <algorithm>

#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// The index at a place of one axis; what is read from memory, and all other axes, count as 0.
int64_t value_at(const ir::Expr& e, uint64_t axis, int64_t place) {
  if (const auto n = ir::as_int(e)) return *n;
  if (const auto* v = ir::as<ir::VarRef>(e)) return v->var.id() == axis ? place : 0;
  const auto at = [&](const ir::Expr& part) { return value_at(part, axis, place); };
  if (const auto* cast = ir::as<ir::Cast>(e)) return at(cast->value);
  if (const auto* choice = ir::as<ir::Select>(e)) return at(at(choice->cond) != 0 ? choice->yes : choice->no);
  const auto* b = ir::as<ir::Binary>(e);
  if (b == nullptr) return 0;
  const int64_t x = at(b->a), y = at(b->b);
  switch (b->op) {
    case ir::BinOp::kAdd:
      return x + y;
    case ir::BinOp::kSub:
      return x - y;
    case ir::BinOp::kMul:
      return x * y;
    case ir::BinOp::kFloorDiv:
      return y == 0 ? 0 : ir::floor_div(x, y);
    case ir::BinOp::kFloorMod:
      return y == 0 ? 0 : ir::floor_mod(x, y);
    case ir::BinOp::kMin:
      return std::min(x, y);
    case ir::BinOp::kMax:
      return std::max(x, y);
    case ir::BinOp::kLt:
      return x < y;
    case ir::BinOp::kLe:
      return x <= y;
    case ir::BinOp::kGt:
      return x > y;
    case ir::BinOp::kGe:
      return x >= y;
    case ir::BinOp::kEq:
      return x == y;
    case ir::BinOp::kNe:
      return x != y;
    case ir::BinOp::kAnd:
      return x != 0 && y != 0;
    case ir::BinOp::kOr:
      return x != 0 || y != 0;
    default:
      return 0;
  }
}

bool reads_along(const ir::Expr& e, const ir::Var& axis) {
  bool found = false;
  ir::walk(e, [&](const ir::Expr& part) {
    found = found || (ir::as<ir::Load>(part) && ir::uses_var(part, axis));
    return !found;
  });
  return found;
}

}  // namespace

std::optional<double> moved_to(const AccessView& access, size_t root, int64_t place,
                               const std::vector<double>& strides) {
  const ir::Var& axis = access.axes[root];
  double moved = 0;
  for (size_t d = 0; d < access.at.size(); ++d) {
    if (!ir::uses_var(access.at[d], axis)) continue;
    if (reads_along(access.at[d], axis)) return std::nullopt;
    moved += strides[d] *
             static_cast<double>(value_at(access.at[d], axis.id(), place) - value_at(access.at[d], axis.id(), 0));
  }
  return moved;
}

}  // namespace tw::schedule
