#include "schedule/thread_sums.h"

#include <algorithm>

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

ir::Stmt joined(const ThreadSums& all, const ir::Reduce& reduce, bool again) {
  const ir::Stmt meet = ir::sync(ir::SyncOp::kBlock);
  std::vector<ir::Stmt> steps;
  if (again) steps.push_back(meet);
  steps.push_back(te::store_all(all.parts, all.slot, loads(all.own, all.at)));
  steps.push_back(meet);
  ir::Expr first;  // along the indices that are done
  for (size_t n = 0; n < all.summed.size(); ++n) {
    const ir::Expr thread = all.slot[all.summed[n]];
    for (const te::LaneJoin& join : te::lane_joins(all.terms[n])) {
      std::vector<ir::Expr> up = all.slot;
      up[all.summed[n]] = thread + ir::Expr(join.distance);
      const ir::Expr joins = thread < ir::Expr(join.lanes);
      const ir::Stmt one =
          te::store_all(all.parts, all.slot, ir::combine(reduce, loads(all.parts, all.slot), loads(all.parts, up)));
      steps.push_back(ir::if_then(first ? first && joins : joins, one));
      steps.push_back(meet);
    }
    const ir::Expr here = thread < ir::Expr(1);
    first = first ? first && here : here;
  }
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
