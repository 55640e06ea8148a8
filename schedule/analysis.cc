#include "schedule/analysis.h"

#include <functional>

#include "schedule/check.h"
#include "schedule/check_launches.h"
#include "schedule/nontemporal.h"
#include "schedule/pad.h"
#include "schedule/prefetch.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/swizzling.h"
#include "src/support/environment.h"

namespace tw::schedule {

namespace {

struct Copies {
  AxisId axis;  // with which they become too many
  int64_t count;
};

std::optional<Copies> too_many_copies(const StageNest& stage, const std::function<int64_t(AxisId)>& iterations) {
  int64_t copies = 1;
  for (AxisId leaf : stage.leaves) {
    const int64_t extent = iterations(leaf);
    const Annotation annotation = stage.axes[leaf].annotation;
    const bool copied = annotation == Annotation::kUnrolled || annotation == Annotation::kVirtual;
    if (!copied || extent == 0) continue;
    copies = extent > ir::Interval::kPosInf / copies ? ir::Interval::kPosInf : copies * extent;
    if (copies > support::max_unroll()) return Copies{leaf, copies};
  }
  return std::nullopt;
}

}  // namespace

Analysis::Analysis(const LoopNest& nest, const std::vector<Step>& steps, Placement placed)
    : nest_(nest), steps_(steps), placed_(std::move(placed)) {}

const NestBounds& Analysis::bounds() {
  if (!bounds_) bounds_ = infer_bounds(nest_, placed_);
  return *bounds_;
}

// What runs unknown times over its whole domain may run known ones where the stage is computed.
Status Analysis::check_iterations(int i) {
  const StageNest& stage = nest_.stage(i);
  for (const AxisId leaf : stage.leaves) {
    if (stage.axes[leaf].annotation != Annotation::kUnrolled || stage.axes[leaf].extent.known()) continue;
    const Extent& times = bounds().stages[i].extent[leaf];
    if (!times.known())
      return blame(primitives::unknown_iterations(stage, leaf, times), steps_, stage.axes[leaf].annotated_by);
  }
  return Unit{};
}

// How often unrolled loops repeat a stage's body, by what they run over where it is computed.
Status Analysis::check_unrolling() {
  for (int i = 0; i < nest_.size(); ++i) {
    if (!placed_.live(i)) continue;
    const StageNest& stage = nest_.stage(i);
    TW_TRY([[maybe_unused]] Unit known, check_iterations(i));
    std::optional<Copies> copies =
        too_many_copies(stage, [&](AxisId leaf) { return stage.axes[leaf].extent.value_or(1); });
    if (copies && placed_.parent[i] != kNone)  // of its whole domain; where it stands it may run over less
      copies = too_many_copies(stage, [&](AxisId leaf) { return bounds().stages[i].extent[leaf].value_or(1); });
    if (!copies) continue;
    return blame(refuse(Unroll::kName, "the unrolled loops of a stage must make at most " +
                                           std::to_string(support::max_unroll()) + " copies of its body, not " +
                                           std::to_string(copies->count))
                     << describe(stage, copies->axis)
                     << "code of that size would take very long to compile; split the axis and unroll the inner part. "
                        "TW_MAX_UNROLL lifts the limit",
                 steps_, stage.axes[copies->axis].annotated_by);
  }
  return Unit{};
}

Status Analysis::judge(const std::vector<int>& given, const Arguments& arguments) {
  for (int i = 0; i < nest_.size(); ++i) {
    if (!placed_.live(i)) continue;
    TW_TRY([[maybe_unused]] Unit fine, check_loops(nest_.stage(i), steps_));
  }
  TW_TRY([[maybe_unused]] Unit launched, check_launches(nest_, placed_, steps_));
  if (has_launches(nest_)) {
    TW_TRY([[maybe_unused]] Unit sized, check_launch_extents(nest_, placed_, bounds(), steps_));
  }
  TW_TRY([[maybe_unused]] Unit unrolled, check_unrolling());
  TW_TRY([[maybe_unused]] Unit padded, check_pads(nest_, placed_, given, steps_));
  TW_TRY([[maybe_unused]] Unit unread, check_predicates(nest_, placed_, steps_));
  TW_TRY([[maybe_unused]] Unit reachable, check_prefetches(nest_, placed_, steps_));
  TW_TRY([[maybe_unused]] Unit once, check_nontemporal(nest_, placed_, steps_));
  const auto stages = static_cast<size_t>(nest_.size());
  slides_.resize(stages);
  layouts_.resize(stages);
  intrins_.resize(stages);
  if (has_slides(nest_)) {
    TW_TRY(slides_, infer_slides(nest_, placed_, bounds(), steps_));
  }
  if (has_swizzles(nest_)) {
    TW_TRY([[maybe_unused]] Unit swizzled, check_swizzles(nest_, placed_, bounds(), steps_));
  }
  if (has_layouts(nest_)) {
    TW_TRY(layouts_, infer_layouts(nest_, placed_, bounds(), steps_));
  }
  if (has_intrins(nest_)) {
    TW_TRY(intrins_, match_intrins(nest_, placed_, bounds(), steps_, arguments));
  }
  return Unit{};
}

}  // namespace tw::schedule
