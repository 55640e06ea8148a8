//   for bx in 0..n, by in 0..2 blockIdx.y:          for bx in 0..n, by in 0..2 cluster.y:
//     for ko in 0..m:                                 for ko in 0..m:
//       AS = box of A at (bx, by)             ==>       AS = box of A at (bx, by)
//       BS = box of B at bx                             BS[half by] of both blocks = half by of the box of B at bx
//       C += AS * BS                                    C += AS * BS                                  // cluster(by)
//
// Blocks of a cluster run at once and reach each other's shared memory. What all of them copy each brings a part of, to
// all: memory of the device is read once for the cluster. That they wait for each other before it is written over, and
// before one ends, follows. What has to stand where is judged with the whole nest (cluster_of.cc).

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/async_copies.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Cluster& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  TW_TRY(AxisId axis,
         leaf_of_blocks(before, step.kName, step.axis, "its iterations are the blocks of a cluster", "blockIdx.y"));
  if (before.cluster.axis != kNone)
    return refuse(step.kName, "a stage must be a cluster along one loop, and " + step.stage + " is along " +
                                  before.axes[before.cluster.axis].name + " already")
           << describe(before, axis) << "fuse both loops before they are bound";
  const Extent& blocks = before.axes[axis].extent;
  if (!blocks.known() || blocks.value() > ir::kMostInCluster)
    return refuse(step.kName, "a cluster must have at most " + std::to_string(ir::kMostInCluster) +
                                  " blocks, a known number, and " + before.axes[axis].name + " has " +
                                  to_string(blocks))
           << describe(before, axis)
           << "every device that has clusters runs so many at once; split the loop, and bind both parts to blocks";
  LoopNest next = nest;
  next.edit(stage).cluster = {axis, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
