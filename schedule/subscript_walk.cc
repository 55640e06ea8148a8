#include "schedule/subscript_walk.h"

#include <unordered_map>

#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// Indices at a place of one axis; what is read from memory, all other axes, and what overflows count as 0.
class Place {
 public:
  Place(uint64_t axis, int64_t place) : axis_(axis), place_(place) {}

  int64_t value(const ir::Expr& e) {
    if (const auto n = ir::as_int(e)) return *n;
    if (const auto* v = ir::as<ir::VarRef>(e)) return v->var.id() == axis_ ? place_ : 0;
    if (const auto* cast = ir::as<ir::Cast>(e)) return value(cast->value);
    if (const auto* choice = ir::as<ir::Select>(e)) return value(value(choice->cond) != 0 ? choice->yes : choice->no);
    const auto* b = ir::as<ir::Binary>(e);
    if (b == nullptr) return 0;
    const auto [known, fresh] = values_.try_emplace(b, 0);
    return fresh ? values_[b] = result_of(*b) : known->second;
  }

 private:
  int64_t result_of(const ir::Binary& b) {
    const int64_t x = value(b.a), y = value(b.b);
    if (b.op == ir::BinOp::kAnd) return x != 0 && y != 0;
    if (b.op == ir::BinOp::kOr) return x != 0 || y != 0;
    const auto px = ir::Interval::point(x), py = ir::Interval::point(y);
    const bool comparison = b.op >= ir::BinOp::kEq && b.op <= ir::BinOp::kGe;
    const ir::Interval result = comparison ? ir::compare(b.op, px, py) : ir::apply(b.op, px, py);
    return result.is_point() && result.bounded() ? result.lo : 0;
  }

  const uint64_t axis_;
  const int64_t place_;
  std::unordered_map<const ir::Binary*, int64_t> values_;
};

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
    const int64_t there = Place(axis.id(), place).value(access.at[d]), here = Place(axis.id(), 0).value(access.at[d]);
    moved += strides[d] * (static_cast<double>(there) - static_cast<double>(here));
  }
  return moved;
}

}  // namespace tw::schedule
