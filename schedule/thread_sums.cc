#include "schedule/thread_sums.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "te/lane_joins.h"
#include "te/statements.h"

namespace tw::schedule {

namespace {

std::vector<ir::Expr> loads(const std::vector<ir::Buffer>& from, const std::vector<ir::Expr>& at) {
  std::vector<ir::Expr> values;
  for (const ir::Buffer& buffer : from) values.push_back(ir::load(buffer, at));
  return values;
}

AxisId summed_along(const StageNest& stage, const StageBounds& bounds, Annotation index) {
  for (AxisId leaf : stage.leaves)
    if (stage.axes[leaf].reduction && stage.axes[leaf].annotation == index && bounds.loop[leaf]) return leaf;
  return kNone;
}

}  // namespace

ThreadSums thread_sums(const StageNest& stage, const StageBounds& bounds, int outermost,
                       const std::vector<DeviceIndex>& indices, const std::vector<ir::Buffer>& to) {
  ThreadSums made;
  std::vector<ir::Expr> slots;
  for (const DeviceIndex& index : indices) {
    if (!is_thread(index.kind)) continue;
    if (const AxisId leaf = summed_along(stage, bounds, index.kind); leaf != kNone) {
      made.summed.push_back(static_cast<int>(slots.size()));
      made.terms.push_back(bounds.extent[leaf].value());
    }
    slots.push_back(index.extent.expr());
    made.slot.emplace_back(index.var);
  }
  if (made.summed.empty()) return {};
  std::vector<ir::Expr> shape;
  for (int position = outermost; position < static_cast<int>(stage.leaves.size()); ++position) {
    const AxisId leaf = stage.leaves[position];
    if (stage.axes[leaf].reduction || is_bound(stage.axes[leaf].annotation) || !bounds.loop[leaf]) continue;
    shape.push_back(bounds.extent[leaf].expr());
    made.at.emplace_back(bounds.loop[leaf]);
  }
  if (shape.empty()) {
    shape.emplace_back(1);
    made.at.emplace_back(0);
  }
  for (const ir::Buffer& buffer : to) {
    made.own.emplace_back(buffer.name() + ".part", buffer.element(), shape, Scope::kLocal);
    made.parts.emplace_back(buffer.name() + ".parts", buffer.element(), slots, Scope::kShared);
  }
  return made;
}

namespace {

constexpr size_t kJoinsAtOnce = 3;                       // of 8 parts that a thread reads at once
constexpr int64_t kRegisters = (1 << kJoinsAtOnce) - 2;  // for each level but the last its own

// How many of the joins from `from` on halve what is left; at most kJoinsAtOnce, and one otherwise.
size_t joins_at_once(const std::vector<te::LaneJoin>& joins, size_t from) {
  size_t n = 0;
  while (n < kJoinsAtOnce && from + n < joins.size() && joins[from + n].lanes == joins[from + n].distance) ++n;
  return std::max<size_t>(n, 1);
}

struct Tree {
  std::vector<ir::Stmt> steps;   // in registers, but for the last join,
  std::vector<ir::Expr> values;  // which gives these
};

std::vector<ir::Buffer> join_registers(const ThreadSums& all) {
  std::vector<ir::Buffer> made;
  for (const ir::Buffer& parts : all.parts)
    made.emplace_back(parts.name() + ".joined", parts.element(), std::vector<ir::Expr>{kRegisters}, Scope::kLocal);
  return made;
}

// What a thread joins by itself: the parts at `slot`, and so many up of it along its index `along`.
Tree tree(const ThreadSums& all, const ir::Reduce& reduce, const std::vector<ir::Buffer>& registers,
          const std::vector<ir::Expr>& slot, int along, int64_t apart, size_t joins) {
  Tree made;
  int64_t from = 0, to = 0;  // registers of the parts of the last level, and of this one
  for (int64_t half = int64_t{1} << (joins - 1); half >= 1; half /= 2) {
    const bool in_registers = half < int64_t{1} << (joins - 1);
    const auto value = [&](const ir::Expr& which) {
      if (in_registers) return loads(registers, {ir::simplify(which + ir::Expr(from))});
      std::vector<ir::Expr> at = slot;
      at[along] = ir::simplify(at[along] + which * ir::Expr(apart));
      return loads(all.parts, at);
    };
    const auto joined = [&](const ir::Expr& which) {
      return ir::combine(reduce, value(which), value(ir::simplify(which + ir::Expr(half))));
    };
    if (half == 1) {
      made.values = joined(0);
    } else {
      const ir::Var part("part");
      made.steps.push_back(
          ir::loop(part, half, te::store_all(registers, {ir::simplify(part + ir::Expr(to))}, joined(part))));
    }
    from = to;
    to += half;
  }
  return made;
}

}  // namespace

ir::Stmt joined(const ThreadSums& all, const ir::Reduce& reduce, bool again, bool for_first) {
  const ir::Stmt meet = ir::sync(ir::SyncOp::kBlock);
  std::vector<ir::Stmt> steps;
  if (again) steps.push_back(meet);
  steps.push_back(te::store_all(all.parts, all.slot, loads(all.own, all.at)));
  steps.push_back(meet);
  for (size_t n = 0; n < all.summed.size(); ++n) {
    const int along = all.summed[n];
    const std::vector<te::LaneJoin> joins = te::lane_joins(all.terms[n]);
    for (size_t j = 0, at_once = 0; j < joins.size(); j += at_once) {
      at_once = joins_at_once(joins, j);
      const int64_t left = joins[j + at_once - 1].distance;
      const std::vector<ir::Buffer> registers = at_once > 1 ? join_registers(all) : std::vector<ir::Buffer>();
      Tree one = tree(all, reduce, registers, all.slot, along, left, at_once);
      one.steps.push_back(te::store_all(all.parts, all.slot, one.values));
      ir::Expr joins_here = all.slot[along] < ir::Expr(joins[j + at_once - 1].lanes);
      for (size_t done = n; done-- > 0;) joins_here = all.slot[all.summed[done]] < ir::Expr(1) && joins_here;
      ir::Stmt join = ir::seq(std::move(one.steps));
      for (const ir::Buffer& buffer : registers) join = ir::allocate(buffer, std::move(join));
      steps.push_back(ir::if_then(joins_here, std::move(join)));
      // One thread alone goes on with what it has stored itself, and with what all have met behind.
      const bool alone = joins[j + at_once - 1].lanes == 1 && j + at_once < joins.size();
      if (!alone) steps.push_back(meet);
    }
  }
  if (for_first && steps.size() > (again ? 3 : 2)) steps.pop_back();
  return ir::seq(std::move(steps));
}

std::vector<ir::Expr> sums(const ThreadSums& all) {
  std::vector<ir::Expr> at = all.slot;
  for (int along : all.summed) at[along] = 0;
  return loads(all.parts, at);
}

ir::Expr is_first(const ThreadSums& all) {
  ir::Expr first;
  for (int along : all.summed) {
    const ir::Expr here = all.slot[along] < ir::Expr(1);
    first = first ? first && here : here;
  }
  return first;
}

}  // namespace tw::schedule
