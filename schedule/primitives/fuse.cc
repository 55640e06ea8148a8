//   for i in 0..n:
//     for j in 0..m:      ==>       for i*j in 0..n*m:
//       body(i, j)                    body(i*j / m, i*j % m)
//
// The loops stand one directly inside the other, in the order given, so the values come in the same order as before.
// More than two axes are fused from the left. One axis stays as it is. None of them, as a stage without dimensions has,
// make a loop of one iteration around all others; of a scan, inside of its time, which stays outermost.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 62;  // a split may round it up by a factor below 2^31

Status check_pair(const StageNest& stage, AxisId outer, AxisId inner) {
  const Axis &a = stage.axes[outer], &b = stage.axes[inner];
  if (stage.position(inner) != stage.position(outer) + 1)
    return refuse(Fuse::kName,
                  "axes must stand directly inside each other; " + b.name + " is not the next loop inside " + a.name)
           << describe(stage) << "reorder them next to each other first";
  if (a.reduction != b.reduction)
    return refuse(Fuse::kName, "axes must be all data axes or all reduction axes, not " + a.name + " and " + b.name)
           << describe(stage) << "a loop over both would have to begin a new sum in its middle";
  for (AxisId axis : {outer, inner}) {
    TW_TRY([[maybe_unused]] Unit is_plain, plain(stage, Fuse::kName, axis, "fuse before you annotate"));
  }
  const bool known = a.extent.known() && b.extent.known();
  int64_t product = 0;
  if (known && (__builtin_mul_overflow(a.extent.value(), b.extent.value(), &product) || product > kLargestExtent))
    return refuse(Fuse::kName, "the extent of the fused loop must be at most 2**62; " + a.name + " and " + b.name +
                                   " make it larger")
           << describe(stage);
  return Unit{};
}

LoopNest fuse_nothing(const LoopNest& nest, int stage) {
  LoopNest next = nest;
  StageNest& changed = next.edit(stage);
  Axis once;
  once.name = "once";
  for (int n = 1; changed.find_axis(once.name) != kNone; ++n) once.name = "once_" + std::to_string(n);
  const auto outermost = changed.leaves.begin() + (changed.op->scan() ? 1 : 0);
  changed.leaves.insert(outermost, static_cast<AxisId>(changed.axes.size()));
  changed.axes.push_back(once);
  return next;
}

}  // namespace

AxisId fuse_pair(StageNest& stage, AxisId outer, AxisId inner, int step) {
  const Axis a = stage.axes[outer], b = stage.axes[inner];
  Axis fused;
  fused.name = a.name + "*" + b.name;
  fused.extent = a.extent * b.extent;
  fused.reduction = a.reduction;
  AxisId id = static_cast<AxisId>(stage.axes.size());
  stage.axes.push_back(fused);
  stage.relations.emplace_back(std::in_place_type<FuseRelation>, FuseRelation{outer, inner, id, step});
  auto at = stage.leaves.begin() + stage.position(outer);
  *at = id;
  stage.leaves.erase(at + 1);
  return id;
}

Result<LoopNest> apply(const LoopNest& nest, const Fuse& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  if (step.axes.empty()) return fuse_nothing(nest, stage);
  std::vector<AxisId> axes;
  for (const std::string& name : step.axes) {
    TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, name));
    axes.push_back(axis);
  }
  LoopNest next = nest;
  StageNest& changed = next.edit(stage);
  AxisId fused = axes[0];
  for (size_t i = 1; i < axes.size(); ++i) {
    TW_TRY([[maybe_unused]] Unit fine, check_pair(changed, fused, axes[i]));
    fused = fuse_pair(changed, fused, axes[i], nest.steps_applied());
  }
  return next;
}

}  // namespace tw::schedule::primitives
