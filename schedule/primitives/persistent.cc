//   for t in 0..n blockIdx.x:           for b in 0..min(n, p) blockIdx.x:
//     tile(t)                   ==>       for t.o in 0..ceildiv(n, p):
//                                           if t.o*p + b < n: tile(t.o*p + b)            // persistent(t, blocks=p)
//
// As many blocks as a device runs at once, each of which computes one tile after the other. Blocks run in any order and
// share nothing, so that one may do the work of several. What a ring has in flight at the end of a tile is of the next
// one (sliding.cc): it begins and ends once for all tiles of a block. What has to stand where is judged with the whole
// nest (check_launches.cc).

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"

namespace tw::schedule::primitives {

namespace {

constexpr int64_t kMultiprocessors = 132;  // of an H100; on_target.h knows those of the device that it is built for

}  // namespace

Result<AxisId> leaf_of_blocks(const StageNest& stage, const char* step, const std::string& name,
                              const std::string& because, const std::string& index) {
  TW_TRY(AxisId axis, free_leaf(stage, step, name));
  if (!is_block(stage.axes[axis].annotation))
    return refuse(step, "axis must be bound to blocks, and " + stage.axes[axis].name + " is not")
           << describe(stage, axis) << because << "bind(" + stage.axes[axis].name + ", " + index + ") comes first";
  return axis;
}

Result<LoopNest> apply(const LoopNest& nest, const Persistent& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  TW_TRY(AxisId axis, leaf_of_blocks(before, step.kName, step.axis,
                                     "a block computes one of its iterations after the other", "blockIdx.x"));
  const Annotation index = before.axes[axis].annotation;
  if (before.persistent.tiles != kNone)
    return refuse(step.kName, "a stage must be persistent along one loop, and " + step.stage + " is along " +
                                  before.axes[before.persistent.whole].name + " already")
           << describe(before, axis) << "fuse both loops before they are bound";
  int64_t blocks = kMultiprocessors;
  if (step.blocks) {
    TW_TRY(blocks, number(step.kName, "blocks", *step.blocks));
  }
  const Extent& all = before.axes[axis].extent;
  if (all.known()) blocks = std::max<int64_t>(1, std::min(blocks, all.value()));

  LoopNest next = nest;
  StageNest& changed = next.edit(stage);
  const int by = changed.axes[axis].annotated_by;
  changed.axes[axis].annotation = Annotation::kNone;
  const SplitAxes made = split_leaf(changed, axis, blocks, 0, Tail::kGuard, nest.steps_applied());
  changed.axes[made.inner].annotation = index;
  changed.axes[made.inner].annotated_by = by;
  changed.persistent = {made.outer, axis, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
