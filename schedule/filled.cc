#include "schedule/filled.h"

#include <algorithm>

namespace tw::schedule {

bool reaches_past_end(const StageNest& stage, const StageBounds& bounds) {
  for (const Relation& relation : stage.relations) {
    const auto* split = std::get_if<SplitRelation>(&relation);
    if (split == nullptr || split->parent == stage.persistent.whole) continue;
    if (is_uneven(bounds, *split) && !is_shifted(stage, bounds, *split)) return true;
  }
  for (AxisId d = 0; d < stage.data_rank; ++d)
    if (!edges(stage, bounds, d).empty()) return true;
  return false;
}

bool is_to_be_filled(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  const StageNest& stage = nest.stage(i);
  if (stage.is_placeholder() || placed.parent[i] == kNone || placed.scope[i] != Scope::kShared) return false;
  if (placed.bodies[i].size() != 1 || stage.is_reduction() || stage.op->scan() || stage.op->external()) return false;
  if (stage.tensorized.axis != kNone || stage.rolling != kNone || !!stage.store_predicate) return false;
  if (placed.readers[i].size() != 1) return false;
  const int reader = placed.readers[i][0];
  return warp_product_of(nest.stage(reader)) != nullptr && reaches_past_end(nest.stage(reader), all.stages[reader]);
}

bool takes_whole_tiles(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  return warp_product_of(nest.stage(i)) != nullptr &&
         std::ranges::all_of(placed.reads[i], [&](const Read& read) { return all.stages[read.source].filled; });
}

}  // namespace tw::schedule
