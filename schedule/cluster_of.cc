#include "schedule/cluster_of.h"

#include <algorithm>

#include "schedule/refuse.h"
#include "schedule/roles_of.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

int stage_with_cluster(const LoopNest& nest, const Placement& placed, int root) {
  for (int i = 0; i < nest.size(); ++i)
    if (placed.live(i) && placed.launch[i] == root && nest.stage(i).cluster.axis != kNone) return i;
  return kNone;
}

}  // namespace

std::optional<ClusterOf> cluster_of(const LoopNest& nest, const Placement& placed, const NestBounds& all, int root) {
  const int stage = root == kNone ? kNone : stage_with_cluster(nest, placed, root);
  if (stage == kNone) return std::nullopt;
  const AxisId axis = nest.stage(stage).cluster.axis;
  if (nest.stage(stage).position(axis) == kNone) return std::nullopt;
  ClusterOf out{nest.stage(stage).axes[axis].annotation, all.stages[stage].extent[axis].value_or(1), {}};
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i) || placed.launch[i] != root) continue;
    for (AxisId leaf : nest.stage(i).leaves)
      if (nest.stage(i).axes[leaf].annotation == out.index && all.stages[i].loop[leaf])
        out.loops.push_back(all.stages[i].loop[leaf]);
  }
  return out.blocks > 1 && !out.loops.empty() ? std::optional(out) : std::nullopt;
}

std::optional<PartOfBox> part_of_box(const ClusterOf& cluster, const LoopNest& nest, const NestBounds& all, int i,
                                     const BoxOfStage& box) {
  const StageBounds& bounds = all.stages[i];
  for (AxisId axis = 0; axis < nest.stage(i).data_rank; ++axis)
    for (const ir::Var& loop : cluster.loops)
      if (ir::uses_var(bounds.lo[axis], loop)) return std::nullopt;
  std::optional<PartOfBox> part;
  int64_t inside = nest.stage(i).buffers[0].element().bytes();  // bytes of what stands within the parted dimension
  for (size_t d = 0; d < box.axes.size(); ++d) {
    if (box.axes[d] == kNone) continue;
    const int64_t extent = bounds.extent[box.axes[d]].value();
    if (part) {
      inside *= d + 1 == box.axes.size() ? extent / box.swizzling.panels : extent;
    } else if (extent > 1) {
      if (extent % cluster.blocks != 0 || d + 1 == box.axes.size()) return std::nullopt;
      part = {d, extent / cluster.blocks};
    }
  }
  if (!part || part->extent * inside % ir::box_alignment(box.swizzling.bytes()) != 0) return std::nullopt;
  return part;
}

Status check_clusters(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                      const std::vector<Slide>& slides, const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    const ClusterNote& note = stage.cluster;
    if (note.axis == kNone) continue;
    const auto wrong = [&](const std::string& rule, const std::string& way_out) {
      return blame(refuse(Cluster::kName, rule) << describe(stage, note.axis) << way_out, steps, note.step);
    };
    const int root = placed.live(i) ? placed.launch[i] : kNone;
    if (root == kNone)
      return wrong("a stage whose blocks are a cluster must be computed by a device, which " + stage.name + " is not",
                   "bind the loops of the stages at root to blockIdx and threadIdx");
    if (stage.position(note.axis) == kNone || stage.persistent.whole == note.axis)
      return wrong("the loop over a cluster's blocks must stand, and " + stage.axes[note.axis].name +
                       (stage.persistent.whole == note.axis ? " is persistent" : " was split or fused"),
                   "split it first, bind both parts to blocks, and let one be the cluster");
    if (stage.persistent.tiles != kNone &&
        std::get<SplitRelation>(*stage.relation_from(stage.persistent.whole)).inner == note.axis)
      return wrong("blocks of a cluster must compute as many tiles each, and " + stage.axes[note.axis].name +
                       " is what persistent shares tiles out to",
                   "split the loop over tiles, bind both parts to blocks, and make one persistent and one the cluster");
    if (const int other = stage_with_cluster(nest, placed, root); other != i)
      return wrong("a launch must have one cluster, and " + nest.stage(other).name + " says of it already",
                   "one of both is enough");
    const std::optional<ClusterOf> cluster = cluster_of(nest, placed, all, root);
    if (!cluster) continue;
    bool boxes = false, parted = false;
    for (int ring = 0; ring < nest.size(); ++ring) {
      if (!placed.live(ring) || placed.launch[ring] != root || !slides[ring].boxes) continue;
      boxes = true;
      const BoxOfStage box = box_of(nest, placed, all, ring);
      parted = parted || part_of_box(*cluster, nest, all, ring, box);
      if (const std::optional<LoopOfStage> loop = loop_that_repeats(nest, placed, all, slides, ring))
        return wrong("a block must come to the pipeline once, and the loop " +
                         nest.stage(loop->stage).axes[loop->axis].name + " comes back to it",
                     "bind the loop to blocks; persistent has a block compute several tiles");
    }
    if (!boxes)
      return wrong("blocks of a cluster must share what the device copies, and " + stage.name +
                       " has no pipeline by tma of more than one slot and one iteration",
                   "pipeline(.., 3, by=\"tma\") of the loop in which what it reads is copied to shared memory");
    if (!parted)
      return wrong(
          "something that blocks of a cluster copy must be the same for all, in parts that each can bring, "
          "and all boxes of " +
              stage.name + " move with " + stage.axes[note.axis].name + ", or are not to be parted by " +
              std::to_string(cluster->blocks),
          "the blocks of a row or of a column of tiles read one operand: split the loop over the other's tiles");
  }
  return Unit{};
}

}  // namespace tw::schedule
