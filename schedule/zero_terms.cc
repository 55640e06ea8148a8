#include "schedule/zero_terms.h"

#include <algorithm>

#include "schedule/layout.h"
#include "schedule/operands.h"
#include "schedule/pad.h"
#include "schedule/sliding.h"
#include "src/ir/equal.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// A root axis, and where the loops of the split end, if only that split reaches past the end of the axis.
struct Reach {
  AxisId axis = kNone;
  int64_t end = 0;
};

Reach reach_of(const StageNest& stage, const StageBounds& bounds, const SplitRelation& split) {
  AxisId axis = split.parent;
  Extent end = bounds.extent[split.outer] * bounds.extent[split.inner];
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
    const auto* around = std::get_if<SplitRelation>(&*relation);
    if (around == nullptr || around->outer != axis || around->by_parts()) continue;
    axis = around->parent;
    end = end * bounds.extent[around->inner];
  }
  const bool root = axis < stage.data_rank + stage.reduce_rank && ir::is_int(stage.axes[axis].min.expr(), 0);
  return root && end.known() ? Reach{axis, end.value()} : Reach{};
}

bool is_zero_beyond(const LoopNest& nest, const Placement& placed, const NestBounds& all, int source, size_t d,
                    int64_t end) {
  const StageNest& stage = nest.stage(source);
  const StageBounds& bounds = all.stages[source];
  if (!!stage.store_predicate || has_turning_buffer(stage)) return false;
  std::vector<Extent> extents(stage.op->shape().begin(), stage.op->shape().end());
  if (!bounds.lo.empty()) {
    if (!ir::is_int(bounds.lo[d], 0)) return false;
    extents.assign(bounds.extent.begin(), bounds.extent.begin() + stage.data_rank);
  }
  if (!bounds.lo.empty() && is_padded(stage, static_cast<AxisId>(d)))
    return !stage.is_reduction() && extents[d].known() && extents[d].value() >= end &&
           !!defined_part(nest, placed, all, source);
  if (!stage.layout || !(extents[d] == Extent(stage.op->shape()[d]))) return false;
  const Result<IndexMap> map = index_map(*stage.layout, extents);
  return map.ok() && map->pads() && map->padded[d].known() && map->padded[d].value() >= end &&
         std::ranges::all_of(stage.buffers, [&](const ir::Buffer& buffer) {
           return ir::equal(pad_of(*stage.layout, buffer.element()), ir::zero(buffer.element()));
         });
}

}  // namespace

bool adds_zeros(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i,
                const SplitRelation& split) {
  const StageNest& stage = nest.stage(i);
  if (split.tail != Tail::kPad) return false;
  const Reach reach = reach_of(stage, all.stages[i], split);
  const auto* sum = ir::as<ir::Reduce>(placed.bodies[i][0]);
  if (reach.axis == kNone || sum == nullptr || !!sum->where || !sum->init.empty()) return false;
  const Axis& axis = stage.axes[reach.axis];
  const auto is_zero = [&](const ir::Load& load) {
    const int source = nest.find_stage(load.buffer.id());
    const int found = place_of(load.at, axis.var);
    return source != kNone && found != kNone && !load.pred &&
           Extent(nest.stage(source).op->shape()[static_cast<size_t>(found)]) == axis.extent &&
           is_zero_beyond(nest, placed, all, source, static_cast<size_t>(found), reach.end);
  };
  bool all_there = true;
  const ir::Expr term = ir::rewrite(sum->sources[0], [&](const ir::Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (load == nullptr || !ir::uses_var(e, axis.var)) return e;
    const bool zero = is_zero(*load);
    all_there = all_there && zero;
    return zero ? ir::zero(e.type()) : e;
  });
  return all_there && ir::equal(ir::simplify(term), ir::zero(term.type()));
}

}  // namespace tw::schedule
