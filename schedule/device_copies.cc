// What a block's threads, or the device for them, bring to shared memory, and how often a block waits for it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "schedule/device_counts.h"
#include "schedule/group_operands.h"
#include "schedule/sliding.h"
#include "schedule/swizzling.h"
#include "schedule/traffic.h"
#include "src/ir/async_copies.h"

namespace tw::schedule {

namespace {

constexpr double kTurn = 20;  // instructions of each warp for a tile: addresses, waiting, the loop itself
// Of the boxes that blocks ask for, those that L2 gives to several processors at once: products of 128 x 128 read
// 10.5 TB/s of an H200, twice what others measured of its L2.
constexpr double kAnsweredTogether = 0.5;

}  // namespace

// What a block's threads do for each other: elements one after the other, by vectors where rows allow it; or the
// device does it, by a box that one thread begins.
void DeviceCounter::copies(const StageView& view, LaunchAccount& launch, double times, StageAccount& stage) {
  const std::vector<double> range = region(view);
  double elements = 1;
  for (double extent : range) elements *= extent;
  const double row = range.empty() ? 1 : range[static_cast<size_t>(innermost(view))];
  double terms = 1;  // of a reduction
  for (const LoopView& loop : view.loops)
    if (loop.reduction) terms *= static_cast<double>(loop.extent);
  const double warps = launch.blocks * times * elements * terms / kWarp;
  const PipelineNote* note = pipeline_of(view.stage);
  const bool boxes =
      note != nullptr && note->stages > 1 &&
      (note->by == kByBoxes || (note->by == ir::Arrival::kLater && is_group_operand(nest_, placed_, view.stage) &&
                                !is_rounded_operand(nest_, placed_, view.stage)));
  if (boxes) stage.instructions += 2 * launch.blocks * times;
  double widest = kVectorBytes;  // bytes that come at once
  for (const AccessView& access : view.accesses)
    if (access.store && stride_along_row(view, access) > 1)
      widest = std::min(widest, bytes_of(access));
    else if (!access.store && scope_of(source_of(view, access)) == ir::Scope::kGlobal)
      widest = std::min(widest, bytes_at_once(view, access));
  if (times > 1) takes_turns(view, times, elements, boxes, widest, launch, stage);
  for (const AccessView& access : view.accesses) {
    const double stride = stride_along_row(view, access);
    const double vector = stride == 1 ? std::clamp(widest / bytes_of(access), 1.0, row) : 1;
    const double bytes = stride <= 1 ? std::ceil(row * bytes_of(access) / kSector) * kSector / row
                                     : std::min(kSector, stride * bytes_of(access));
    if (!boxes) stage.instructions += 2 * warps / vector;
    if (access.store) {
      const double wavefronts = std::max(1.0, kWarp * bytes_of(access) / kBanks) * warps;
      stage.requests += boxes ? launch.blocks * times : warps / vector;
      stage.wavefronts += wavefronts;
      stage.least += wavefronts;
    } else if (scope_of(source_of(view, access)) == ir::Scope::kGlobal) {
      const double sectors = warps * kWarp * bytes / kSector / (boxes ? readers_of(view, access) : 1);
      to_memory(access, sectors, stage);
      if (boxes) stage.answered += sectors * kAnsweredTogether;
    }
  }
  stage.operations += warps * kWarp * view.operations;
  stage.arithmetic += warps * view.operations;
  stage.instructions += warps * view.operations;
}

// The axis that neighbours go along: that of the innermost loop, where it is one of a whole axis.
int DeviceCounter::innermost(const StageView& view) const {
  const int last = static_cast<int>(nest_.stage(view.stage).data_rank) - 1;
  const bool whole = !view.loops.empty() && view.loops.back().roots.size() == 1 && view.loops.back().step == 1;
  const int axis = whole ? view.loops.back().roots.front() : last;
  return axis <= last ? axis : last;
}

double DeviceCounter::stride_along_row(const StageView& view, const AccessView& access) const {
  const int last = innermost(view);
  return last < 0 ? 0 : stride_of(access, LoopView{1, {last}, 1}, strides_of(access, source_of(view, access)));
}

// Neighbours, where rows of the tensor begin at multiples of as many bytes.
double DeviceCounter::bytes_at_once(const StageView& view, const AccessView& access) const {
  if (stride_along_row(view, access) != 1) return bytes_of(access);
  const double row = access.shape.size() > 1 ? static_cast<double>(access.shape.back()) * bytes_of(access) : 0;
  return static_cast<double>(std::gcd(static_cast<int64_t>(row), static_cast<int64_t>(kVectorBytes)));
}

// Each of so many iterations finds a tile of the stage. What is copied as it lies, 4 bytes or more at once, comes by
// itself while others are used; the rest waits in registers, or for nobody.
void DeviceCounter::takes_turns(const StageView& view, double times, double elements, bool boxes, double widest,
                                LaunchAccount& launch, StageAccount& stage) {
  constexpr double kRegister = 4;  // bytes
  const PipelineNote* note = pipeline_of(view.stage);
  const double slots = note == nullptr ? slots_of(view.stage) : static_cast<double>(note->stages);
  const bool later = boxes || (note != nullptr && view.operations == 0 && widest >= kRegister &&
                               !is_rounded_operand(nest_, placed_, view.stage));
  launch.by_registers = launch.by_registers || !later;
  if (!later && slots > 1)
    launch.registers +=
        std::ceil(elements * view.element_bytes / widest / launch.threads) * std::max(1.0, widest / kRegister);
  if (!boxes) stage.instructions += kTurn * launch.blocks * times * std::max(1.0, launch.threads / kWarp);
  launch.turns = std::max(launch.turns, times);
  launch.ahead = std::max(launch.ahead, slots - 1);
}

// Blocks of a cluster that have of it what one of them reads.
double DeviceCounter::readers_of(const StageView& view, const AccessView& access) const {
  const int root = placed_.launch[static_cast<size_t>(view.stage)];
  for (int i = 0; i < nest_.size(); ++i) {
    const StageNest& stage = nest_.stage(i);
    if (placed_.launch[static_cast<size_t>(i)] != root || stage.cluster.axis == kNone) continue;
    const Annotation index = stage.axes[stage.cluster.axis].annotation;
    for (const LoopView& loop : view.around)
      if (loop.annotation == index && !touches(access, loop))
        return is_parted(view, loop.extent) ? static_cast<double>(loop.extent) : 1;
  }
  return 1;
}

// Whether each of so many blocks can bring a part of the box: of its first lines (cluster_of.cc).
bool DeviceCounter::is_parted(const StageView& view, int64_t blocks) const {
  const auto data = static_cast<ptrdiff_t>(nest_.stage(view.stage).data_rank);
  const std::vector<int64_t> box(view.root_extents.begin(), view.root_extents.begin() + data);
  const auto first = std::ranges::find_if(box, [](int64_t extent) { return extent > 1; });
  if (box.end() - first < 2 || *first % blocks != 0) return false;
  const Swizzling swizzling = swizzling_of(nest_, placed_, view.stage, {box.begin(), box.end()});
  int64_t bytes = view.element_bytes * *first / blocks;
  for (auto within = first + 1; within != box.end(); ++within) bytes *= *within;
  return bytes / swizzling.panels % ir::box_alignment(swizzling.bytes()) == 0;
}

}  // namespace tw::schedule
