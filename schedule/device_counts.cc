// Which stages a launch has, and what all of their counts rest on: threads, memory that is kept, bytes that memory
// gives.
#include "schedule/device_counts.h"

#include <algorithm>
#include <cmath>

#include "schedule/memory_strides.h"
#include "schedule/roles_of.h"
#include "src/ir/warp_products.h"

namespace tw::schedule {

std::vector<LaunchAccount> DeviceCounter::run() {
  std::vector<LaunchAccount> all;
  for (int i = 0; i < nest_.size(); ++i)
    if (placed_.launch[static_cast<size_t>(i)] == i) {
      launch_[i] = all.size();
      LaunchAccount& launch = all.emplace_back();
      launch.root = i;
      launch.registers = kOwnRegisters;
    }
  for (const StageView& view : views_)
    if (LaunchAccount* launch = launch_of(view, all))
      for (const std::vector<LoopView>* loops : {&view.around, &view.loops}) measure(*loops, lanes_of(view), *launch);
  for (LaunchAccount& launch : all) {
    launch.copying = stage_with_roles(nest_, placed_, launch.root) == kNone ? 0 : kThreadsOfRole;
    launch.threads += launch.copying;
  }
  for (const StageView& view : views_)
    if (LaunchAccount* launch = launch_of(view, all)) {
      launch->stages.push_back(counted(view, *launch));
      keep(view, *launch);
    }
  return all;
}

LaunchAccount* DeviceCounter::launch_of(const StageView& view, std::vector<LaunchAccount>& all) const {
  const auto found = launch_.find(placed_.launch[static_cast<size_t>(view.stage)]);
  return found == launch_.end() ? nullptr : &all[found->second];
}

bool DeviceCounter::together(const StageView& view) const {
  return placed_.together[static_cast<size_t>(view.stage)] == Team::kBlock;
}

// Whether it is made of what its threads have in registers.
bool DeviceCounter::stores_registers(const StageView& view) const {
  return std::ranges::any_of(view.accesses, [&](const AccessView& access) {
    return !access.store && scope_of(source_of(view, access)) == ir::Scope::kLocal;
  });
}

// Whether neither it nor what it is computed in adds anything up around it.
bool DeviceCounter::follows_sums(const StageView& view) const {
  if (std::ranges::any_of(view.loops, &LoopView::reduction)) return false;
  for (int i = view.stage; placed_.parent[static_cast<size_t>(i)] != kNone;
       i = placed_.parent[static_cast<size_t>(i)]) {
    const StageNest& host = nest_.stage(placed_.parent[static_cast<size_t>(i)]);
    for (int l = 0; l <= placed_.level[static_cast<size_t>(i)]; ++l)
      if (host.axes[static_cast<size_t>(host.leaves[static_cast<size_t>(l)])].reduction) return false;
  }
  return true;
}

// The extents of the launch's indices: the largest of its loops.
void DeviceCounter::measure(const std::vector<LoopView>& loops, double lanes, LaunchAccount& launch) {
  double threads = lanes, blocks = 1;
  for (const LoopView& loop : loops) {
    if (is_thread(loop.annotation)) threads *= static_cast<double>(loop.extent);
    if (is_block(loop.annotation)) blocks *= static_cast<double>(loop.extent);
  }
  launch.threads = std::max(launch.threads, threads);
  launch.blocks = std::max(launch.blocks, blocks);
}

// Threads that no loop of the stage stands for.
double DeviceCounter::lanes_of(const StageView& view) const {
  const ir::WarpProduct* product = warp_product_of(nest_.stage(view.stage));
  return product ? product->lanes : 1;
}

StageAccount DeviceCounter::counted(const StageView& view, LaunchAccount& launch) {
  double times = 1;
  for (const LoopView& loop : view.around) {
    const bool for_all = loop.annotation == Annotation::kVirtual && together(view);
    if (!is_bound(loop.annotation) && !for_all) times *= static_cast<double>(loop.extent);
  }
  StageAccount stage{view.stage};
  if (const ir::WarpProduct* product = warp_product_of(nest_.stage(view.stage)))
    multiplies(*product, view, launch, times, stage);
  else if (together(view) && !stores_registers(view) && !sums_across_threads(nest_.stage(view.stage)))
    copies(view, launch, times, stage);
  else
    computes(view, launch, times, stage);
  stage.after = (!together(view) || stores_registers(view)) && follows_sums(view);
  return stage;
}

int DeviceCounter::source_of(const StageView& view, const AccessView& access) const {
  return access.store ? view.stage : nest_.find_stage(access.buffer);
}

// What lanes keep for their warp lies in registers too.
ir::Scope DeviceCounter::scope_of(int source) const {
  if (source == kNone) return ir::Scope::kGlobal;
  const ir::Scope scope = placed_.scope[static_cast<size_t>(source)];
  return scope == ir::Scope::kWarp ? ir::Scope::kLocal : scope;
}

// The pipeline of the loop that the stage, in shared memory, is computed in; null: there is none.
const PipelineNote* DeviceCounter::pipeline_of(int stage) const {
  const int parent = placed_.parent[static_cast<size_t>(stage)];
  if (parent == kNone || placed_.scope[static_cast<size_t>(stage)] != ir::Scope::kShared) return nullptr;
  const StageNest& host = nest_.stage(parent);
  const AxisId loop = host.leaves[static_cast<size_t>(placed_.level[static_cast<size_t>(stage)])];
  const auto note = std::ranges::find(host.pipelines, loop, &PipelineNote::axis);
  return note == host.pipelines.end() ? nullptr : &*note;
}

// Of the ring that the stage is kept in.
double DeviceCounter::slots_of(int stage) const {
  if (const PipelineNote* note = pipeline_of(stage)) return static_cast<double>(note->stages);
  const bool shared = placed_.parent[static_cast<size_t>(stage)] != kNone &&
                      placed_.scope[static_cast<size_t>(stage)] == ir::Scope::kShared;
  return shared && nest_.stage(stage).double_buffered != kNone ? 2 : 1;
}

// Memory gives each byte of a tensor once, to whoever is first.
void DeviceCounter::to_memory(const AccessView& access, double sectors, StageAccount& stage) {
  stage.sectors += sectors;
  double size = bytes_of(access);
  for (int64_t extent : access.shape) size *= static_cast<double>(extent);
  double& bytes = bytes_[{placed_.launch[static_cast<size_t>(stage.stage)], access.buffer}];
  const double all = std::min(size, bytes + sectors * kSector);
  stage.bytes += all - bytes;
  bytes = all;
}

// Memory that the stage needs where it is computed.
void DeviceCounter::keep(const StageView& view, LaunchAccount& launch) const {
  // The sums of a product are counted as such.
  const bool of_warp = placed_.scope[static_cast<size_t>(view.stage)] == ir::Scope::kWarp;
  if (view.stage == launch.root || (of_warp && warp_product_of(nest_.stage(view.stage))))
    return;  // counted as its sums
  double bytes = view.element_bytes;
  for (double extent : region(view)) bytes *= extent;
  if (of_warp) bytes /= ir::kLanesOfWarp;
  const ir::Scope scope = scope_of(view.stage);
  const double slots = slots_of(view.stage);
  launch.slots = std::max(launch.slots, slots);
  if (scope == ir::Scope::kShared) launch.shared += slots * bytes * padding(view);
  if (scope != ir::Scope::kLocal) return;
  for (const LoopView& loop : view.around)
    if (loop.annotation == Annotation::kVirtual && !loop.roots.empty()) bytes *= static_cast<double>(loop.extent);
  launch.registers += std::ceil(bytes / 4);
}

// What rows and planes that do not lie side by side (storage_align) take more.
double DeviceCounter::padding(const StageView& view) const {
  const StageNest& stage = nest_.stage(view.stage);
  if (stage.layout) return 1;
  std::vector<ir::Expr> shape;
  double compact = 1;
  for (double extent : region(view)) {
    shape.emplace_back(static_cast<int64_t>(extent));
    compact *= extent;
  }
  const std::vector<ir::Expr> strides = aligned_strides(stage, shape);
  const auto outermost = strides.empty() ? std::nullopt : ir::as_int(strides[0]);
  return outermost && compact > 0 ? static_cast<double>(*outermost) * region(view)[0] / compact : 1;
}

// Of the data axes, what is computed where the stage stands.
std::vector<double> DeviceCounter::region(const StageView& view) const {
  const auto data = static_cast<ptrdiff_t>(nest_.stage(view.stage).data_rank);
  return {view.root_extents.begin(), view.root_extents.begin() + data};
}

}  // namespace tw::schedule
