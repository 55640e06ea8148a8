// On which device a stage is computed, in which memory it lies, and by whom.
#include <algorithm>

#include "schedule/placement.h"
#include "src/ir/group_products.h"

namespace tw::schedule {

bool binds(const StageNest& stage) {
  return std::ranges::any_of(stage.leaves, [&](AxisId leaf) { return is_bound(stage.axes[leaf].annotation); });
}

bool has_launches(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (binds(nest.stage(i))) return true;
  return false;
}

const ir::WarpProduct* warp_product_of(const StageNest& stage) {
  return stage.tensorized.axis == kNone ? nullptr : ir::device_product(stage.tensorized.intrin->key);
}

bool sums_across_threads(const StageNest& stage) {
  return std::ranges::any_of(
      stage.leaves, [&](AxisId leaf) { return stage.axes[leaf].reduction && is_thread(stage.axes[leaf].annotation); });
}

bool runs_through(Team team, Annotation annotation) {
  return team == Team::kBlock ? has_threads(annotation) : team == Team::kWarp && annotation == Annotation::kThreadX;
}

bool stands_still(const StageNest& host, int position, int level, Team together) {
  const Annotation annotation = host.axes[host.leaves[position]].annotation;
  if (is_block(annotation)) return true;
  if (runs_through(together, annotation)) return false;
  return is_thread(annotation) || position <= level;
}

namespace {

// Whether a loop around the stage's place is bound to threads, virtual ones among them.
bool inside_threads(const LoopNest& nest, const Placement& placed, int i) {
  for (int stage = i; placed.parent[stage] != kNone; stage = placed.parent[stage]) {
    const StageNest& host = nest.stage(placed.parent[stage]);
    for (int position = 0; position <= placed.level[stage]; ++position)
      if (has_threads(host.axes[host.leaves[position]].annotation)) return true;
  }
  return false;
}

bool stands_within(const Placement& placed, int i, int host) {
  for (int stage = i; stage != kNone; stage = placed.parent[stage])
    if (stage == host) return true;
  return false;
}

// Whether the reader, or a stage around it, is computed by all threads, and `i` is not a part of that.
bool is_read_together(const Placement& placed, int i, int reader) {
  for (int stage = reader; stage != kNone; stage = placed.parent[stage])
    if (placed.together[stage] == Team::kBlock && !stands_within(placed, i, stage)) return true;
  return false;
}

// Whether the reader's own loops say which lanes compute it.
bool says_its_lanes(const LoopNest& nest, int reader) {
  const StageNest& stage = nest.stage(reader);
  return std::ranges::any_of(stage.leaves,
                             [&](AxisId leaf) { return stage.axes[leaf].annotation == Annotation::kThreadX; });
}

// Whether the launch of this stage at root has no more threads along x than a warp, and of one warp none along y or z.
enum class Warps : uint8_t { kOne, kSeveral };
bool has_whole_warps(const LoopNest& nest, const Placement& placed, int root, Warps warps) {
  constexpr int64_t kLanes = ir::kLanesOfWarp;
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i) || !stands_within(placed, i, root)) continue;
    const StageNest& stage = nest.stage(i);
    if (const ir::WarpProduct* product = warp_product_of(stage); product && product->lanes > kLanes) return false;
    for (AxisId leaf : stage.leaves) {
      const Axis& axis = stage.axes[leaf];
      if (axis.annotation == Annotation::kThreadX ? axis.extent.value_or(kLanes + 1) > kLanes
                                                  : warps == Warps::kOne && has_threads(axis.annotation))
        return false;
    }
  }
  return true;
}

// Whether all lanes of a warp come to the stage and to what it reads: it stands in loops of the launch's own, and none
// of lanes, and no thread has a producer to itself.
bool lanes_come_to(const LoopNest& nest, const Placement& placed, int i, int root) {
  if (placed.parent[i] != root) return false;
  for (const Read& read : placed.reads[i])
    if (const StageNest& source = nest.stage(read.source);
        placed.parent[read.source] != kNone && !stands_within(placed, read.source, i) && !sums_across_threads(source) &&
        source.scope != Scope::kWarp && source.scope != Scope::kShared)
      return false;
  const StageNest& host = nest.stage(root);
  for (int position = 0; position <= placed.level[i]; ++position)
    if (host.axes[host.leaves[position]].annotation == Annotation::kThreadX) return false;
  return true;
}

// Whether the stage's sums go along the lanes of a warp and no other threads.
bool sums_across_lanes(const StageNest& stage) {
  return sums_across_threads(stage) && std::ranges::all_of(stage.leaves, [&](AxisId leaf) {
           const Axis& axis = stage.axes[leaf];
           return !axis.reduction || !is_thread(axis.annotation) ||
                  (axis.annotation == Annotation::kThreadX && axis.extent.value_or(0) == ir::kLanesOfWarp);
         });
}

Scope scope_by_place(const LoopNest& nest, const Placement& placed, int i) {
  if (placed.parent[i] == kNone) return Scope::kGlobal;
  if (placed.launch[i] == kNone) return Scope::kLocal;
  return inside_threads(nest, placed, i) ? Scope::kLocal : Scope::kShared;
}

}  // namespace

void place_in_launches(const LoopNest& nest, Placement& placed) {
  const int size = nest.size();
  placed.launch.assign(size, kNone);
  placed.scope.assign(size, Scope::kGlobal);
  placed.together.assign(size, Team::kNone);
  for (int i = size; i-- > 0;) {  // readers first
    if (!placed.live(i)) continue;
    int root = i;
    while (placed.parent[root] != kNone) root = placed.parent[root];
    if (binds(nest.stage(root))) placed.launch[i] = root;
    placed.scope[i] = nest.stage(i).scope.value_or(scope_by_place(nest, placed, i));
    if (placed.launch[i] == kNone || root == i) continue;
    // What threads need together they find only where all of its producers were computed by all of them.
    const bool of_warp = placed.scope[i] == Scope::kWarp;
    const auto has = [&](Warps warps) { return has_whole_warps(nest, placed, root, warps); };
    const bool needed = std::ranges::any_of(placed.readers[i], [&](int reader) {
      return is_read_together(placed, i, reader) && !(of_warp && says_its_lanes(nest, reader) && has(Warps::kSeveral));
    });
    const bool by_lanes = placed.scope[i] == Scope::kLocal && sums_across_lanes(nest.stage(i)) &&
                          lanes_come_to(nest, placed, i, root) && has(Warps::kSeveral);
    if ((needed && !(of_warp && has(Warps::kOne))) || placed.scope[i] == Scope::kShared ||
        (sums_across_threads(nest.stage(i)) && !by_lanes))
      placed.together[i] = Team::kBlock;
    else if (of_warp || by_lanes)
      placed.together[i] = Team::kWarp;
  }
}

}  // namespace tw::schedule
