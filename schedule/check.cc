// The rules of the whole nest, one function each.
#include "schedule/check.h"

#include <algorithm>

#include "schedule/analysis.h"
#include "schedule/check_launch_memory.h"
#include "schedule/emit.h"
#include "schedule/layout.h"
#include "schedule/refuse.h"

namespace tw::schedule {

namespace {

// Lanes are scalars' worth of work: what stands inside is repeated for all lanes together, so it must be a plain loop.
Status check_vectors(const StageNest& stage, const std::vector<Step>& steps) {
  AxisId outer = kNone;
  for (AxisId leaf : stage.leaves) {
    Annotation annotation = stage.axes[leaf].annotation;
    bool refused = annotation == Annotation::kVectorized || runs_concurrently(annotation);
    if (outer != kNone && refused)
      return blame(
          refuse("vectorize", "inside a vectorized loop only serial and unrolled loops may stand, not the " +
                                  to_string(annotation) + " loop " + stage.axes[leaf].name)
              << describe(stage, outer)
              << "reorder " + stage.axes[leaf].name + " outside of " + stage.axes[outer].name + ", or leave it serial",
          steps, std::max(stage.axes[leaf].annotated_by, stage.axes[outer].annotated_by));
    if (annotation == Annotation::kVectorized) outer = leaf;
    if (annotation == Annotation::kVectorized && stage.axes[leaf].reduction && stage.tensorized.axis != kNone)
      return blame(refuse("vectorize",
                          "a stage whose loops are an intrinsic's must have no vectorized reduction loop, "
                          "such as " +
                              stage.axes[leaf].name)
                       << describe(stage, leaf)
                       << "the intrinsic adds to the result itself, not to partial results; rfactor the loop, or leave "
                          "it serial",
                   steps, std::max(stage.axes[leaf].annotated_by, stage.tensorized.step));
  }
  return Unit{};
}

bool uneven(const StageNest& stage, const SplitRelation& split) {
  return !(stage.axes[split.outer].extent * stage.axes[split.inner].extent == stage.axes[split.parent].extent);
}

}  // namespace

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
  for (AxisId leaf : leaves_from(stage, split.parent))
    if (is_bound(stage.axes[leaf].annotation) || stage.axes[leaf].annotation == Annotation::kVirtual)
      return wrong("tail of a bound loop must be one that visits each value once, not shift_inward",
                   "Two threads would write the values that are revisited.");
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

namespace {

Arguments inputs_and_outputs(const LoopNest& nest) {
  Arguments all;
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (stage.is_placeholder())
      all[i] = {packed_buffer(stage)};
    else if (stage.output)
      all[i] = stage.buffers;
  }
  return all;
}

}  // namespace

// What a block shares is known when there are loops: slots, rows that are swizzled, sums that threads join.
Status check(const LoopNest& nest, const std::vector<Step>& steps) {
  TW_TRY(Placement placed, place(nest, steps));
  Analysis known(nest, steps, std::move(placed));
  TW_TRY([[maybe_unused]] Unit legal, known.judge());
  if (!has_launches(nest)) return Unit{};
  return check_launch_memory(emit(nest, known.placed(), known.bounds(), known.slides(), known.layouts(),
                                  inputs_and_outputs(nest), known.intrins()),
                             steps);
}

}  // namespace tw::schedule
