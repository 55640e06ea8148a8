#include "schedule/check_launches.h"

#include <algorithm>

#include "schedule/check_warps.h"
#include "schedule/launch.h"
#include "schedule/refuse.h"
#include "src/support/launch_limits.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

using support::kMostThreadsOfBlock;

int64_t most_of(Annotation index) {
  const Annotation first = is_thread(index) ? Annotation::kThreadX : Annotation::kBlockX;
  const auto& most = is_thread(index) ? support::kMostThreadsAlong : support::kMostBlocksAlong;
  return most[static_cast<size_t>(index) - static_cast<size_t>(first)];
}

Diagnostic refused(const StageNest& stage, const std::string& step, const std::string& rule) {
  return refuse(step, rule) << describe(stage);
}

// The first loop with such an annotation.
template <class Which>
AxisId find_leaf(const StageNest& stage, const Which& which) {
  for (AxisId leaf : stage.leaves)
    if (which(stage.axes[leaf].annotation)) return leaf;
  return kNone;
}

Status check_root(const StageNest& stage) {
  if (stage.op->external())
    return refuse(Bind::kName,
                  "an extern stage must not stand beside stages that are bound, as " + stage.name + " does")
           << "its statement is the host's, and what it reads and writes is memory of the device";
  if (!binds(stage)) {
    const std::string axis = stage.op->scan() ? ".op.spatial_axis_[0]" : ".op.axis[0]";
    const std::string first =
        "s[" + stage.name + "].bind(s[" + stage.name + "]" + axis + ", te.thread_axis(\"blockIdx.x\"))";
    return refused(stage, Bind::kName,
                   "every stage at root must be bound to blocks or threads, and " + stage.name + " is not")
           << "a schedule that binds anything runs on a device, where each stage at root is a launch"
           << (stage.data_rank > (stage.op->scan() ? 1 : 0)
                   ? first + ", or compute " + stage.name + " inside another stage's loops"
                   : "s[" + stage.name + "].env_threads([te.thread_axis(\"threadIdx.x\")]) makes it one thread's" +
                         (stage.op->scan() ? "" : ", or compute it inside another stage's loops"));
  }
  if (stage.scope && *stage.scope != Scope::kGlobal)
    return refused(stage, SetScope::kName,
                   "scope of a stage at root must be global where it is bound, not " + to_string(*stage.scope))
           << "other launches read " + stage.name + ": neither a thread nor a block keeps it for them"
           << "compute_at its reader, or leave it global";
  return Unit{};
}

// What the lanes of a warp keep for each other is computed by them: along threadIdx.x, each its own.
Status check_of_warp(const StageNest& stage, Team team, const std::vector<Step>& steps) {
  const auto wrong = [&](const std::string& rule, int step) {
    return blame(refused(stage, SetScope::kName, rule), steps, step);
  };
  if (team == Team::kBlock)
    return wrong("scope of a stage that all threads of a block need must be shared, and that of " + stage.name +
                     " is warp",
                 stage.attach.step)
           << "threads of another warp do not find what lanes keep in registers"
           << "set it to shared, or compute its reader inside of threads";
  for (AxisId leaf : stage.leaves)
    if (const Annotation index = stage.axes[leaf].annotation;
        has_threads(index) && index != Annotation::kThreadX && index != Annotation::kVirtual)
      return wrong("a stage in scope warp must be bound to threadIdx.x alone, and " + stage.axes[leaf].name + " of " +
                       stage.name + " is bound to " + to_string(index),
                   stage.axes[leaf].annotated_by)
             << "each warp keeps what its own lanes compute"
             << "leave " + stage.axes[leaf].name + " serial, or set " + stage.name + " to shared";
  if (!warp_product_of(stage) && find_leaf(stage, [](Annotation a) { return a == Annotation::kThreadX; }) == kNone)
    return wrong(
               "a stage in scope warp must have an axis that is bound to threadIdx.x, and " + stage.name + " has none",
               stage.attach.step)
           << "the lane that computes an element is the one that keeps it"
           << "split the last axis by 32, and bind the inner part to threadIdx.x";
  return Unit{};
}

// `scan`: around the stage, or null.
Status check_attached(const StageNest& stage, Scope scope, Team team, const StageNest* scan,
                      const std::vector<Step>& steps) {
  if (const AxisId leaf = find_leaf(stage, is_block); leaf != kNone)
    return blame(
        refused(stage, Bind::kName,
                "a stage must be at root to be bound to blocks, and " + stage.name + " is computed inside " +
                    stage.attach.stage)
            << "a reader in another block of the same launch would not see it"
            << (scan ? "the scan is the launch: s[" + scan->name + "].bind(" + scan->name +
                           ".op.spatial_axis_[0], te.thread_axis(\"blockIdx.x\")), and that of threads likewise"
                     : "bind it to threadIdx, or compute_root it: that is a launch of its own"),
        steps, stage.axes[leaf].annotated_by);
  if (scope == Scope::kGlobal)
    return blame(
        refused(stage, SetScope::kName,
                "scope of a stage inside of a launch must be shared or local, and " + stage.name + " is global")
            << "a block writes memory that all share, and no other block waits for it"
            << "set it to shared, or compute_root it: that is a launch of its own",
        steps, stage.attach.step);
  for (const ir::Buffer& buffer : stage.buffers)
    if ((scope == Scope::kShared || scope == Scope::kWarp) && buffer.element().is_packed())
      return blame(refused(stage, SetScope::kName,
                           "scope of a stage whose elements share bytes must not be " + to_string(scope) +
                               ", as that of " + stage.name + ", of " + ir::to_string(buffer.element()) + ", is")
                       << "two threads would write one byte"
                       << "set it to local, or cast it to int8",
                   steps, stage.attach.step);
  if (scope == Scope::kWarp) return check_of_warp(stage, team, steps);
  const auto own = std::ranges::find_if(
      stage.leaves, [&](AxisId leaf) { return is_thread(stage.axes[leaf].annotation) && !stage.axes[leaf].reduction; });
  if (scope == Scope::kLocal && own != stage.leaves.end())
    return blame(
        refused(stage, SetScope::kName,
                "scope of a stage whose loops are bound to threads must be shared, and " + stage.name + " is local")
            << "a thread would read what another one keeps for itself"
            << "set it to shared, or leave " + stage.axes[*own].name + " serial",
        steps, stage.axes[*own].annotated_by);
  return Unit{};
}

// What nothing on a device does.
Status check_steps(const StageNest& stage, const std::vector<Step>& steps) {
  const auto no = [&](const char* step, const std::string& rule, int by, const std::string& why) {
    return blame(refused(stage, step, rule) << why, steps, by);
  };
  if (const AxisId leaf = find_leaf(stage, [](Annotation a) { return a == Annotation::kParallel; }); leaf != kNone)
    return no(Parallel::kName,
              "a stage must not be parallel in a launch, as " + stage.axes[leaf].name + " of " + stage.name + " is",
              stage.axes[leaf].annotated_by, "the threads of the host are not there; bind the loop");
  if (stage.rolling != kNone)
    return no(RollingBuffer::kName, "a stage must not roll in a launch, as " + stage.name + " does", stage.rolling,
              "iterations would wait for each other");
  if (!stage.prefetches.empty())
    return no(Prefetch::kName, "a stage must not prefetch in a launch, as " + stage.name + " does",
              stage.prefetches[0].step, "a device has no such instruction; cache_read to shared memory fetches ahead");
  if (stage.nontemporal != kNone)
    return no(Nontemporal::kName, "a stage must not be nontemporal in a launch, as " + stage.name + " is",
              stage.nontemporal, "the stores of a device's threads go by its own caches");
  if (stage.tensorized.axis != kNone && !warp_product_of(stage))
    return no(Tensorize::kName,
              "a stage must not be tensorized so in a launch, as " + stage.name + " is, by " +
                  te::readable_intrin(stage.tensorized.intrin->key),
              stage.tensorized.step, "it is an intrinsic of CPUs; those of a device are " + warp_product_names());
  if (stage.layout && !stage.layout->pad.empty())
    return no(TransformLayout::kName, "a stage must have no pad_value in a launch, as " + stage.name + " has",
              stage.layout->step, "the places without an element would be every thread's to write");
  return Unit{};
}

// What persistent has made of the loop over tiles still goes over them, one after the other, and is all that blocks
// share out.
Status check_persistent(const StageNest& stage, const std::vector<Step>& steps) {
  const PersistentNote& note = stage.persistent;
  if (note.tiles == kNone) return Unit{};
  const Axis& tiles = stage.axes[note.tiles];
  const auto wrong = [&](const std::string& rule, const std::string& way_out) {
    return blame(refuse(Persistent::kName, rule) << describe(stage, note.tiles) << way_out, steps,
                 std::max(note.step, tiles.annotated_by));
  };
  if (stage.position(note.tiles) == kNone)
    return wrong("the loop over tiles must stand, and " + tiles.name + " was split or fused",
                 "split and fuse before the loop is bound to blocks");
  if (tiles.annotation != Annotation::kNone)
    return wrong("the loop over tiles must be serial, and " + tiles.name + " is " + to_string(tiles.annotation),
                 "a block computes one tile after the other");
  const auto& split = std::get<SplitRelation>(*stage.relation_from(note.whole));
  for (AxisId leaf : stage.leaves)
    if (const Annotation other = stage.axes[leaf].annotation;
        is_block(other) && leaf != split.inner && leaf != stage.cluster.axis)
      return wrong("a persistent stage must have one index of blocks, and " + stage.name + " has " +
                       to_string(stage.axes[split.inner].annotation) + " and " + to_string(other),
                   "fuse the loops over tiles, bind what comes of it, and make that persistent");
  return Unit{};
}

// Threads that compute together revisit nothing, and meet in no lane.
Status check_together(const LoopNest& nest, const Placement& placed, int i, const std::vector<Step>& steps) {
  const StageNest& stage = nest.stage(i);
  for (const Relation& relation : stage.relations)
    if (const auto* split = std::get_if<SplitRelation>(&relation);
        split && split->tail == Tail::kShiftInward && placed.scope[i] == Scope::kShared)
      return blame(refused(stage, "split",
                           "tail of a stage that threads share must be one that visits each value once, "
                           "not shift_inward")
                       << "Two threads would write the values that are revisited. Use guard, mask or peel.",
                   steps, split->step);
  for (int inner = i; placed.parent[inner] != kNone; inner = placed.parent[inner]) {
    const StageNest& host = nest.stage(placed.parent[inner]);
    for (int position = 0; position <= placed.level[inner]; ++position) {
      const Axis& axis = host.axes[host.leaves[position]];
      if (axis.annotation == Annotation::kVectorized)
        return blame(refused(stage, "compute_at",
                             "threads must not meet in the lanes of a vector, and " + stage.name +
                                 " is computed inside the vectorized loop " + axis.name)
                         << "compute it further out",
                     steps, stage.attach.step);
    }
  }
  return Unit{};
}

Status check_sums(const StageNest& stage, const std::vector<Step>& steps) {
  if (!sums_across_threads(stage)) return Unit{};
  for (AxisId leaf : stage.leaves)
    if (stage.axes[leaf].reduction && stage.axes[leaf].annotation == Annotation::kVectorized)
      return blame(
          refused(stage, Bind::kName, "a reduction must have threads or lanes, and " + stage.name + " has both")
              << "leave " + stage.axes[leaf].name + " serial",
          steps, stage.axes[leaf].annotated_by);
  return Unit{};
}

// Whether stage i finds the states that other threads of its block wrote: those meet before what they share is made.
bool meets_for_states(const Placement& placed, int i) { return placed.scope[i] == Scope::kShared; }

// Whether what a thread reads of states at d is its own, or is there as all have met: all that read states do, or each
// read in the scan's time is in place, or of a stage that all threads share.
bool finds_states(const LoopNest& nest, const Placement& placed, int scan, AxisId d) {
  const auto inside = [&](int stage) { return stage == scan || placed.scan[stage] == scan; };
  bool all_meet = true, each_finds = true;
  for (int i = 0; i < nest.size(); ++i) {
    if (!inside(i)) continue;
    for (const Read& read : placed.reads[i]) {
      if (!inside(read.source)) continue;
      const bool meets = meets_for_states(placed, read.source == scan ? i : read.source);
      all_meet = all_meet && (meets || read.source != scan);
      each_finds = each_finds && (meets || is_in_place(nest.stage(i), read, d));
    }
  }
  return all_meet || each_finds;
}

// Times follow each other within a thread. Of a state that others wrote it knows only after all threads have met, and
// blocks never do.
Status check_scan(const LoopNest& nest, const Placement& placed, int scan, const std::vector<Step>& steps) {
  const StageNest& stage = nest.stage(scan);
  if (placed.parent[scan] != kNone)
    return blame(refused(stage, ComputeAt::kName,
                         "a scan must be a launch of its own beside stages that are bound, and " + stage.name +
                             " is computed inside " + stage.attach.stage)
                     << "compute_root it, and bind its axes",
                 steps, stage.attach.step);
  for (int i = 0; i < nest.size(); ++i)
    if (placed.live(i) && placed.scan[i] == scan && placed.together[i] == Team::kBlock && !meets_for_states(placed, i))
      return blame(refused(nest.stage(i), SetScope::kName,
                           "a stage that all threads need and that reads a state must be shared, and " +
                               nest.stage(i).name + " is " + to_string(placed.scope[i]))
                       << "a thread would read states that others have not written yet",
                   steps, nest.stage(i).attach.step);
  for (AxisId leaf : stage.leaves) {
    if (!is_bound(stage.axes[leaf].annotation) || stage.axes[leaf].extent.value_or(2) <= 1) continue;
    for (AxisId d = 1; d < stage.data_rank; ++d) {
      const std::vector<AxisId> parts = leaves_from(stage, d);
      if (std::ranges::find(parts, leaf) == parts.end() || stays_in_place(nest, placed, scan, d)) continue;
      const bool thread = is_thread(stage.axes[leaf].annotation);
      if (thread && finds_states(nest, placed, scan, d)) continue;
      return blame(refused(stage, Bind::kName,
                           "an axis of a scan must not be bound to " + to_string(stage.axes[leaf].annotation) +
                               " where its updates read other places of it, as they do of " + stage.axes[d].name)
                       << (thread ? "what another thread wrote at the time before is there once all threads have met"
                                  : "what another block wrote at the time before may not be there: blocks never meet")
                       << (thread ? "compute what reads the state in a stage that is shared"
                                  : "bind it to threadIdx, and compute what reads the state in a stage that is shared"),
                   steps, stage.axes[leaf].annotated_by);
    }
  }
  return Unit{};
}

}  // namespace

Status check_launches(const LoopNest& nest, const Placement& placed, const std::vector<Step>& steps) {
  const bool device = has_launches(nest);
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i) || nest.stage(i).is_placeholder()) continue;
    const StageNest& stage = nest.stage(i);
    if (!device && (placed.scope[i] == Scope::kShared || placed.scope[i] == Scope::kWarp))
      return refused(stage, SetScope::kName,
                     "scope " + to_string(placed.scope[i]) + " must stand inside of a launch, and " + stage.name +
                         " does not")
             << (placed.scope[i] == Scope::kWarp ? "it is in registers of the lanes of a device's warp"
                                                 : "it is memory of a block of a device")
             << "bind the loops of the stages at root to blockIdx and threadIdx, or set it to local";
    if (const AxisId leaf = find_leaf(stage, [](Annotation a) { return a == Annotation::kVirtual; });
        !device && leaf != kNone)
      return blame(refuse(Bind::kName, "vthread must stand inside of a launch, and " + stage.name + " has none")
                       << describe(stage, leaf) << "virtual threads are a part of what a thread of a device does"
                       << "bind other loops to blockIdx and threadIdx, or unroll this one",
                   steps, stage.axes[leaf].annotated_by);
    if (warp_product_of(stage)) {
      TW_TRY([[maybe_unused]] Unit multiplied, check_warp_product(nest, placed, i, steps));
    }
    if (!device) continue;
    if (stage.op->scan()) {
      TW_TRY([[maybe_unused]] Unit scanned, check_scan(nest, placed, i, steps));
    }
    if (placed.parent[i] == kNone) {
      TW_TRY([[maybe_unused]] Unit root, check_root(stage));
    } else {
      const StageNest* scan = placed.scan[i] == kNone ? nullptr : &nest.stage(placed.scan[i]);
      TW_TRY([[maybe_unused]] Unit attached, check_attached(stage, placed.scope[i], placed.together[i], scan, steps));
    }
    TW_TRY([[maybe_unused]] Unit known, check_steps(stage, steps));
    TW_TRY([[maybe_unused]] Unit sums, check_sums(stage, steps));
    TW_TRY([[maybe_unused]] Unit tiles, check_persistent(stage, steps));
    if (placed.together[i] == Team::kNone) continue;
    TW_TRY([[maybe_unused]] Unit together, check_together(nest, placed, i, steps));
  }
  return Unit{};
}

namespace {

// The last Step that bound a loop of the launch to one of these, of those that are as long as it is.
template <class Which>
int step_that_binds(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                    const std::vector<DeviceIndex>& indices, int root, const Which& which) {
  int last = -1;
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i) || placed.launch[i] != root) continue;
    const StageNest& stage = nest.stage(i);
    for (const AxisId leaf : stage.leaves)
      for (const DeviceIndex& index : indices)
        if (index.kind == stage.axes[leaf].annotation && which(index) && index.extent == all.stages[i].extent[leaf])
          last = std::max(last, stage.axes[leaf].annotated_by);
  }
  return last;
}

}  // namespace

Status check_launch_extents(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                            const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    const StageNest& stage = nest.stage(i);
    for (AxisId leaf : stage.leaves)
      if (has_threads(stage.axes[leaf].annotation) && !all.stages[i].extent[leaf].known())
        return blame(
            refuse(Bind::kName, "a loop that is bound to threads must have a known number of iterations, not " +
                                    to_string(all.stages[i].extent[leaf]))
                << describe(stage, leaf)
                << "split the axis, bind the inner part to " + to_string(stage.axes[leaf].annotation) +
                       " and the outer one to blocks",
            steps, stage.axes[leaf].annotated_by);
  }
  const Launches launches(nest, placed, all);
  for (int i = 0; i < nest.size(); ++i) {
    if (placed.launch[i] != i) continue;
    const std::vector<DeviceIndex>& indices = launches.indices(i);
    const auto bound_by = [&](const auto& which) { return step_that_binds(nest, placed, all, indices, i, which); };
    int64_t threads = 1;
    for (const DeviceIndex& index : indices)
      if (is_thread(index.kind)) threads *= index.extent.value();
    if (threads > kMostThreadsOfBlock)
      return blame(
          refused(nest.stage(i), Bind::kName,
                  "a block must have at most " + std::to_string(kMostThreadsOfBlock) + " threads, and that of " +
                      nest.stage(i).name + " has " + std::to_string(threads))
              << "split the loops, and bind smaller parts to threadIdx",
          steps, bound_by([](const DeviceIndex& index) { return is_thread(index.kind) && index.extent.value() > 1; }));
    for (const DeviceIndex& index : indices)
      if (const int64_t most = most_of(index.kind); index.extent.value_or(0) > most)
        return blame(refused(nest.stage(i), Bind::kName,
                             to_string(index.kind) + " must have at most " + std::to_string(most) +
                                 " iterations, and that of " + nest.stage(i).name + " has " + to_string(index.extent))
                         << (is_thread(index.kind)
                                 ? "bind the loop to threadIdx.x or threadIdx.y"
                                 : "bind the longest loop to blockIdx.x, or fuse loops over blocks and bind that"),
                     steps, bound_by([&](const DeviceIndex& other) { return other.kind == index.kind; }));
    TW_TRY([[maybe_unused]] Unit lanes, check_lanes(nest, placed, all, i, steps));
  }
  return Unit{};
}

}  // namespace tw::schedule
