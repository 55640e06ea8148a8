#include "schedule/filled.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "src/lower/index_math.h"

namespace tw::schedule {

namespace {

// Whether loops of the stage take iterations that its axes do not have.
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

}  // namespace

bool leaves_out_ends(const LoopNest& nest, const Placement& placed, int i) {
  const auto* sum = ir::as<ir::Reduce>(placed.bodies[i][0]);
  if (sum == nullptr || !sum->where) return true;
  return std::ranges::all_of(lower::conjuncts(sum->where), [&](const ir::Expr& holds) {
    const auto* inside = ir::as<ir::Binary>(holds);
    if (inside == nullptr || inside->op != ir::BinOp::kLt) return false;
    return std::ranges::all_of(placed.reads[i], [&](const Read& read) {
      const StageNest& source = nest.stage(read.source);
      const std::vector<ir::Expr>& at = ir::as<ir::Load>(read.load)->at;
      for (size_t d = 0; d < at.size(); ++d)
        if (ir::is_int(ir::simplify(at[d] - inside->a), 0) &&
            ir::is_int(ir::simplify(source.axes[d].extent.expr() - inside->b), 0))
          return true;
      return false;
    });
  });
}

bool is_to_be_filled(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  const StageNest& stage = nest.stage(i);
  if (stage.is_placeholder() || placed.parent[i] == kNone || placed.scope[i] != Scope::kShared) return false;
  if (placed.bodies[i].size() != 1 || stage.is_reduction() || stage.op->scan() || stage.op->external()) return false;
  if (stage.tensorized.axis != kNone || stage.rolling != kNone || !!stage.store_predicate) return false;
  if (placed.readers[i].size() != 1) return false;
  const int reader = placed.readers[i][0];
  if (warp_product_of(nest.stage(reader)) == nullptr) return false;
  const auto* sum = ir::as<ir::Reduce>(placed.bodies[reader][0]);
  const bool leaves_out = sum != nullptr && !!sum->where;
  return leaves_out ? leaves_out_ends(nest, placed, reader) : reaches_past_end(nest.stage(reader), all.stages[reader]);
}

bool takes_whole_tiles(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  return warp_product_of(nest.stage(i)) != nullptr &&
         std::ranges::all_of(placed.reads[i], [&](const Read& read) { return all.stages[read.source].filled; });
}

}  // namespace tw::schedule
