#include "schedule/partial_results.h"

#include <algorithm>

#include "te/lane_joins.h"

namespace tw::schedule {

namespace {

bool is_lanes(const StageNest& stage, const StageBounds& bounds, AxisId leaf) {
  const Axis& axis = stage.axes[leaf];
  return axis.reduction && axis.annotation == Annotation::kVectorized && bounds.loop[leaf] &&
         bounds.extent[leaf].value_or(0) > 1;
}

std::vector<ir::Expr> around_lanes(const PartialResults& partial) { return {partial.at.begin(), partial.at.end() - 1}; }

}  // namespace

PartialResults partial_results(const StageNest& stage, const StageBounds& bounds, int outermost,
                               const std::vector<ir::Buffer>& to, bool in_launch) {
  PartialResults partial;
  std::vector<ir::Expr> shape;
  for (int position = outermost; position < static_cast<int>(stage.leaves.size()); ++position) {
    const AxisId leaf = stage.leaves[position];
    if (is_lanes(stage, bounds, leaf)) partial.position = position;
    if (stage.axes[leaf].reduction || !bounds.loop[leaf]) continue;
    shape.push_back(bounds.extent[leaf].expr());
    partial.at.push_back(bounds.loop[leaf]);
  }
  if (partial.position == kNone) return {};
  const AxisId lanes = stage.leaves[partial.position];
  partial.lanes = bounds.extent[lanes].value();
  shape.push_back(partial.lanes);
  partial.at.push_back(bounds.loop[lanes]);
  const bool fixed = std::all_of(shape.begin(), shape.end(), [](const ir::Expr& e) { return ir::as_int(e); });
  for (const ir::Buffer& buffer : to)
    partial.buffers.emplace_back(buffer.name() + ".lanes", buffer.element(), shape,
                                 fixed || in_launch ? Scope::kLocal : Scope::kGlobal);
  return partial;
}

std::vector<ir::Expr> first_lane(const PartialResults& partial) {
  std::vector<ir::Expr> at = around_lanes(partial), values;
  at.emplace_back(0);
  for (const ir::Buffer& buffer : partial.buffers) values.push_back(ir::load(buffer, at));
  return values;
}

ir::Stmt joined(const PartialResults& partial, const ir::Reduce& reduce, ir::ForKind lanes) {
  return te::join_lanes(reduce, partial.buffers, around_lanes(partial), partial.lanes, lanes);
}

}  // namespace tw::schedule
