// The rules of the whole nest, one function each.
#include "schedule/check.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "schedule/layout.h"
#include "schedule/match_intrin.h"
#include "schedule/pad.h"
#include "schedule/prefetch.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/sliding.h"

namespace tw::schedule {

namespace {

// Lanes are scalars' worth of work: what stands inside is repeated for all lanes together, so it must be a plain loop.
Status check_vectors(const StageNest& stage, const std::vector<Step>& steps) {
  AxisId outer = kNone;
  for (AxisId leaf : stage.leaves) {
    Annotation annotation = stage.axes[leaf].annotation;
    bool refused = annotation == Annotation::kVectorized || annotation == Annotation::kParallel;
    if (outer != kNone && refused)
      return blame(
          refuse("vectorize", "inside a vectorized loop only serial and unrolled loops may stand, not the " +
                                  to_string(annotation) + " loop " + stage.axes[leaf].name)
              << describe(stage, outer)
              << "reorder " + stage.axes[leaf].name + " outside of " + stage.axes[outer].name + ", or leave it serial",
          steps, std::max(stage.axes[leaf].annotated_by, stage.axes[outer].annotated_by));
    if (annotation == Annotation::kVectorized) outer = leaf;
  }
  return Unit{};
}

bool uneven(const StageNest& stage, const SplitRelation& split) {
  return !(stage.axes[split.outer].extent * stage.axes[split.inner].extent == stage.axes[split.parent].extent);
}

struct Copies {
  AxisId axis;  // with which they become too many
  int64_t count;
};

std::optional<Copies> too_many_copies(const StageNest& stage, const std::function<int64_t(AxisId)>& iterations) {
  int64_t copies = 1;
  for (AxisId leaf : stage.leaves) {
    const int64_t extent = iterations(leaf);
    if (stage.axes[leaf].annotation != Annotation::kUnrolled || extent == 0) continue;
    copies = extent > ir::Interval::kPosInf / copies ? ir::Interval::kPosInf : copies * extent;
    if (copies > primitives::max_unroll()) return Copies{leaf, copies};
  }
  return std::nullopt;
}

}  // namespace

Status check_unrolling(const LoopNest& nest, const Placement& placed, const std::vector<Step>& steps) {
  std::optional<NestBounds> bounds;
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    const StageNest& stage = nest.stage(i);
    std::optional<Copies> copies =
        too_many_copies(stage, [&](AxisId leaf) { return stage.axes[leaf].extent.value_or(1); });
    if (copies && placed.parent[i] != kNone) {  // of its whole domain; where it stands it may run over less
      if (!bounds) bounds = infer_bounds(nest, placed);
      copies = too_many_copies(stage, [&](AxisId leaf) { return bounds->stages[i].extent[leaf].value_or(1); });
    }
    if (!copies) continue;
    return blame(refuse(Unroll::kName, "the unrolled loops of a stage must make at most " +
                                           std::to_string(primitives::max_unroll()) + " copies of its body, not " +
                                           std::to_string(copies->count))
                     << describe(stage, copies->axis)
                     << "code of that size would take very long to compile; split the axis and unroll the inner part. "
                        "TW_MAX_UNROLL lifts the limit",
                 steps, stage.axes[copies->axis].annotated_by);
  }
  return Unit{};
}

// The last iteration of a shifted loop computes values again that an earlier one has computed: harmless where each
// visit starts from nothing, wrong where it adds to what is there, a race where the visits happen at the same time.
Status check_shift(const StageNest& stage, const SplitRelation& split, const std::vector<Step>& steps) {
  auto wrong = [&](const std::string& rule, const std::string& why) {
    return blame(refuse("split", rule) << describe(stage, split.parent) << why + " Use guard, mask or peel.", steps,
                 split.step);
  };
  if (stage.axes[split.parent].reduction)
    return wrong("tail must be one that visits each value once, not shift_inward",
                 "shift_inward revisits values; the reduction would add them twice.");
  int first_reduction = static_cast<int>(stage.leaves.size());
  for (int i = static_cast<int>(stage.leaves.size()); i-- > 0;)
    if (stage.axes[stage.leaves[i]].reduction) first_reduction = i;
  for (AxisId leaf : leaves_from(stage, split.outer)) {
    if (stage.position(leaf) > first_reduction)
      return wrong("tail must be one that visits each value once, not shift_inward",
                   "The loop " + stage.axes[leaf].name + " stands inside the reduction loop " +
                       stage.axes[stage.leaves[first_reduction]].name +
                       ", so revisited values would be added to twice.");
    if (stage.axes[leaf].annotation == Annotation::kParallel)
      return wrong("tail of a parallel loop must be one that visits each value once, not shift_inward",
                   "Two threads would write the values that " + stage.axes[leaf].name + " revisits.");
  }
  return Unit{};
}

Status check_loops(const StageNest& stage, const std::vector<Step>& steps) {
  TW_TRY([[maybe_unused]] Unit vectors, check_vectors(stage, steps));
  for (const Relation& relation : stage.relations) {
    const auto* split = std::get_if<SplitRelation>(&relation);
    if (!split || split->tail != Tail::kShiftInward || !uneven(stage, *split)) continue;
    TW_TRY([[maybe_unused]] Unit shifted, check_shift(stage, *split, steps));
  }
  return Unit{};
}

Status check(const LoopNest& nest, const std::vector<Step>& steps) {
  TW_TRY(Placement placed, place(nest, steps));
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    TW_TRY([[maybe_unused]] Unit fine, check_loops(nest.stage(i), steps));
  }
  TW_TRY([[maybe_unused]] Unit unrolled, check_unrolling(nest, placed, steps));
  TW_TRY([[maybe_unused]] Unit padded, check_pads(nest, placed, {}, steps));
  TW_TRY([[maybe_unused]] Unit unread, check_predicates(nest, placed, steps));
  TW_TRY([[maybe_unused]] Unit reachable, check_prefetches(nest, placed, steps));
  if (has_slides(nest)) {
    TW_TRY([[maybe_unused]] std::vector<Slide> slides, infer_slides(nest, placed, infer_bounds(nest, placed), steps));
  }
  if (has_layouts(nest)) {
    TW_TRY([[maybe_unused]] IndexMaps layouts, infer_layouts(nest, placed, infer_bounds(nest, placed), steps));
  }
  if (has_intrins(nest)) {
    TW_TRY([[maybe_unused]] std::vector<BoundIntrin> intrins,
           match_intrins(nest, placed, infer_bounds(nest, placed), steps));
  }
  return Unit{};
}

}  // namespace tw::schedule
