#include "schedule/check_warps.h"

#include <algorithm>

#include "schedule/refuse.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

AxisId annotated(const StageNest& stage, Annotation annotation) {
  const auto leaf =
      std::ranges::find_if(stage.leaves, [&](AxisId a) { return stage.axes[a].annotation == annotation; });
  return leaf == stage.leaves.end() ? kNone : *leaf;
}

}  // namespace

std::string warp_product_names() {
  std::string names;
  for (const ir::WarpProduct& product : ir::warp_products())
    names += (names.empty() ? "" : ", ") + std::string(product.name);
  return names + ", and of four warps wgmma.m64nNk16.bf16, .f16 and wgmma.m64nNk32.s8, N from 8 to 256";
}

Status check_warp_product(const LoopNest& nest, const Placement& placed, int i, const std::vector<Step>& steps) {
  const StageNest& stage = nest.stage(i);
  const std::string name = te::readable_intrin(stage.tensorized.intrin->key);
  const auto wrong = [&](const std::string& rule, int step) {
    return blame(refuse(Tensorize::kName, rule) << describe(stage), steps, std::max(step, stage.tensorized.step));
  };
  if (placed.launch[i] == kNone)
    return wrong(name + " must stand in a launch, and " + stage.name + " does not", kNone)
           << "the lanes of a warp of a device compute it together"
           << "bind the loops around it to blockIdx and to threadIdx.y or threadIdx.z";
  if (const AxisId leaf = annotated(stage, Annotation::kThreadX); leaf != kNone)
    return wrong("threadIdx.x must be left to the lanes of " + name + ", and " + stage.axes[leaf].name + " of " +
                     stage.name + " is bound to it",
                 stage.axes[leaf].annotated_by)
           << "which lane has which element is the instruction's to say"
           << "bind " + stage.axes[leaf].name + " to threadIdx.y or threadIdx.z, whose values are warps of their own";
  if (sums_across_threads(stage))
    return wrong(
               "a reduction must have the lanes of " + name + " or threads of its own, and " + stage.name + " has both",
               kNone)
           << "leave the reduction's loops serial, or rfactor the one that is bound";
  for (int host = i, level = static_cast<int>(stage.leaves.size()) - 1; host != kNone;
       level = placed.level[host], host = placed.parent[host])
    for (int position = 0; position <= level; ++position)
      if (const Axis& axis = nest.stage(host).axes[nest.stage(host).leaves[position]];
          axis.annotation == Annotation::kVirtual)
        return wrong(name + " must not stand in virtual threads, as in " + axis.name + " of " + nest.stage(host).name,
                     axis.annotated_by)
               << "unroll " + axis.name + ": it is a part of what a warp does";
  if (placed.scope[i] == Scope::kLocal)
    return wrong("scope of a stage that " + name + " computes must be shared, and that of " + stage.name + " is local",
                 stage.attach.step)
           << "each lane of a warp has some of its elements, and a reader would find those of its own thread only"
           << "set it to shared, or to warp, where the loops of what reads it are those of the lanes";
  return Unit{};
}

Status check_lanes(const LoopNest& nest, const Placement& placed, const NestBounds& all, int root,
                   const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const ir::WarpProduct* product = placed.launch[i] == root ? warp_product_of(nest.stage(i)) : nullptr;
    if (product == nullptr) continue;
    const std::string lanes = std::to_string(product->lanes);
    for (int other = 0; other < nest.size(); ++other) {
      const ir::WarpProduct* beside = placed.launch[other] == root ? warp_product_of(nest.stage(other)) : nullptr;
      if (beside != nullptr && beside->lanes < product->lanes)
        return blame(refuse(Tensorize::kName, "products in one launch must take as many threads along x, and " +
                                                  std::string(product->name) + " of " + nest.stage(i).name + " takes " +
                                                  lanes + ", " + std::string(beside->name) + " of " +
                                                  nest.stage(other).name + " " + std::to_string(beside->lanes))
                         << describe(nest.stage(other))
                         << "compute " + nest.stage(other).name + " at root, or both by one kind",
                     steps, nest.stage(other).tensorized.step);
      const AxisId leaf = placed.launch[other] == root ? annotated(nest.stage(other), Annotation::kThreadX) : kNone;
      if (leaf == kNone || all.stages[other].extent[leaf].value_or(0) <= product->lanes) continue;
      return blame(
          refuse(Bind::kName, "a loop that is bound to threadIdx.x beside " +
                                  te::readable_intrin(nest.stage(i).tensorized.intrin->key) + " must have at most " +
                                  lanes + " iterations, and " + nest.stage(other).axes[leaf].name + " has " +
                                  to_string(all.stages[other].extent[leaf]))
              << describe(nest.stage(other), leaf)
              << "threads along x are the lanes of " +
                     std::string(product->lanes > ir::kLanesOfWarp ? "four warps" : "a warp") + ", which compute " +
                     nest.stage(i).name
              << "split it by " + lanes +
                     " and bind the other part to threadIdx.y, or leave the loops of a shared stage "
                     "unbound: all threads share them",
          steps, nest.stage(other).axes[leaf].annotated_by);
    }
  }
  return Unit{};
}

}  // namespace tw::schedule
