// The estimate of a device's schedule: counts of each stage, then the time of each launch.
#include "autotune/model/device_prior.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "schedule/loop_nest.h"
#include "schedule/nest_view.h"
#include "schedule/placement.h"

namespace tw::autotune {

namespace {

using schedule::AccessView;
using schedule::Annotation;
using schedule::DeviceRates;
using schedule::LoopView;
using schedule::StageView;

constexpr double kWarp = 32, kSector = 32, kBanks = 128, kVectorBytes = 16;
constexpr double kRegisters = 65536, kMostRegisters = 255,
                 kOwnRegisters = 32;  // of a processor; of a thread: addresses, factors
constexpr double kLaunch = 3e-6;      // seconds until the first block runs and after the last one ended
constexpr double kHiding = 12;        // warps of a processor that hide each other's waiting
constexpr double kSpilled = 4;        // what registers that lie in memory cost
constexpr double kOverlap = 0.2;      // share of the lesser terms that the largest does not hide

// Of one launch.
struct Counts {
  double threads = 1, blocks = 1;
  double instructions = 0, passes = 0, sectors = 0;  // of warps
  double registers = kOwnRegisters, shared = 0;      // of a thread; bytes of a block
  std::map<uint64_t, double> bytes;                  // of each tensor in memory
};

// How far one iteration of the loop moves the access, in elements of a tensor in row-major order.
double stride_of(const AccessView& access, const LoopView& loop) {
  double stride = 0, size = 1;
  for (size_t d = access.shape.size(); d-- > 0; size *= static_cast<double>(access.shape[d]))
    for (int root : loop.roots)
      stride += size * static_cast<double>(access.coefficients[d][static_cast<size_t>(root)] * loop.step);
  return access.affine ? std::abs(stride) : kSector;
}

class Launches {
 public:
  Launches(const schedule::LoopNest& nest, const schedule::Placement& placed) : nest_(nest), placed_(placed) {}

  std::map<int, Counts> run() {
    const std::vector<StageView> views = schedule::view_stages(nest_);
    for (const StageView& view : views)
      for (const std::vector<LoopView>* loops : {&view.around, &view.loops}) measure(view, *loops);
    for (const StageView& view : views) add(view);
    return std::move(launches_);
  }

 private:
  Counts& launch_of(const StageView& view) { return launches_[placed_.launch[static_cast<size_t>(view.stage)]]; }
  bool together(const StageView& view) const { return placed_.together[static_cast<size_t>(view.stage)] != 0; }

  // The extents of the launch's indices: the largest of its loops.
  void measure(const StageView& view, const std::vector<LoopView>& loops) {
    Counts& launch = launch_of(view);
    double threads = 1, blocks = 1;
    for (const LoopView& loop : loops) {
      if (schedule::is_thread(loop.annotation)) threads *= static_cast<double>(loop.extent);
      if (schedule::is_block(loop.annotation)) blocks *= static_cast<double>(loop.extent);
    }
    launch.threads = std::max(launch.threads, threads);
    launch.blocks = std::max(launch.blocks, blocks);
  }

  void add(const StageView& view) {
    double times = 1;
    for (const LoopView& loop : view.around)
      if (!schedule::is_bound(loop.annotation)) times *= static_cast<double>(loop.extent);
    if (together(view))
      copies(view, times);
    else
      computes(view, times);
    keep(view);
  }

  // What a block's threads do for each other: elements one after the other, by vectors where rows allow it.
  void copies(const StageView& view, double times) {
    Counts& launch = launch_of(view);
    const std::vector<double> range = region(view);
    double elements = 1;
    for (double extent : range) elements *= extent;
    const double row = range.empty() ? 1 : range.back();
    const double warps = launch.blocks * times * elements / kWarp;
    for (const AccessView& access : view.accesses) {
      const LoopView along{1, {static_cast<int>(range.size()) - 1}, 1};
      const double stride = range.empty() ? 0 : stride_of(access, along);
      const double vector = stride == 1 ? std::clamp(kVectorBytes / access.element_bytes, 1.0, row) : 1;
      const double bytes = stride <= 1 ? std::ceil(row * access.element_bytes / kSector) * kSector / row
                                       : std::min(kSector, stride * access.element_bytes);
      launch.instructions += 2 * warps / vector;
      if (access.store)
        launch.passes += std::max(1.0, kWarp * access.element_bytes / kBanks) * warps;
      else
        to_memory(access, warps * kWarp * bytes / kSector, launch);
    }
    launch.instructions += warps * view.operations;
  }

  // What each thread does for itself.
  void computes(const StageView& view, double times) {
    Counts& launch = launch_of(view);
    double trips = times;
    for (const LoopView& loop : view.loops)
      if (!schedule::is_bound(loop.annotation)) trips *= static_cast<double>(loop.extent);
    const double warps = launch.blocks * std::max(1.0, launch.threads / kWarp);
    launch.instructions += warps * trips * std::max(1.0, view.operations - view.fused);
    for (const AccessView& access : view.accesses) accesses(view, access, warps * trips, launch);
  }

  // An access that some unrolled or vectorized loops do not move happens once for all of these; one that a vector moves
  // by one element, once for each 16 bytes.
  void accesses(const StageView& view, const AccessView& access, double times, Counts& launch) {
    double vector = 1;
    for (const LoopView& loop : view.loops) {
      if (loop.annotation != Annotation::kVectorized && loop.annotation != Annotation::kUnrolled) continue;
      const double stride = stride_of(access, loop), extent = static_cast<double>(loop.extent);
      if (stride == 0) times /= extent;
      if (stride == 1 && loop.annotation == Annotation::kVectorized)
        vector = std::min(extent, std::max(1.0, kVectorBytes / access.element_bytes));
    }
    times /= vector;
    const int source = access.store ? view.stage : nest_.find_stage(access.buffer);
    const ir::Scope scope = source == schedule::kNone ? ir::Scope::kGlobal : placed_.scope[static_cast<size_t>(source)];
    if (scope == ir::Scope::kLocal) return;
    launch.instructions += times;
    const double width = vector * access.element_bytes;
    if (scope == ir::Scope::kShared) {
      launch.passes += times * std::max(1.0, different(view, access) * width / kBanks);
      return;
    }
    to_memory(access, times * sectors(view, access, width), launch);
  }

  // The loops over the threads of a warp, the fastest first.
  static std::vector<std::pair<LoopView, double>> warp_of(const StageView& view) {
    std::vector<std::pair<LoopView, double>> loops;
    double left = kWarp;
    for (Annotation index : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ})
      for (const std::vector<LoopView>* all : {&view.around, &view.loops})
        for (const LoopView& loop : *all) {
          if (loop.annotation != index || left < 2) continue;
          loops.emplace_back(loop, std::min(left, static_cast<double>(loop.extent)));
          left = std::floor(left / static_cast<double>(loop.extent));
        }
    return loops;
  }

  static double different(const StageView& view, const AccessView& access) {
    double count = 1;
    for (const auto& [loop, threads] : warp_of(view))
      if (stride_of(access, loop) != 0) count *= threads;
    return count;
  }

  static double sectors(const StageView& view, const AccessView& access, double width) {
    double count = 1, side_by_side = width;
    for (const auto& [loop, threads] : warp_of(view)) {
      const double stride = stride_of(access, loop) * access.element_bytes;
      if (stride == 0) continue;
      if (stride <= side_by_side)
        side_by_side += (threads - 1) * stride;
      else
        count *= stride >= kSector ? threads : std::max(1.0, threads * stride / kSector);
    }
    return count * std::ceil(side_by_side / kSector);
  }

  static void to_memory(const AccessView& access, double sectors, Counts& launch) {
    launch.sectors += sectors;
    double size = access.element_bytes;
    for (int64_t extent : access.shape) size *= static_cast<double>(extent);
    double& bytes = launch.bytes[access.buffer];
    bytes = std::min(size, bytes + sectors * kSector);
  }

  // Memory that the stage needs where it is computed.
  void keep(const StageView& view) {
    Counts& launch = launch_of(view);
    const ir::Scope scope = placed_.scope[static_cast<size_t>(view.stage)];
    if (view.stage == placed_.launch[static_cast<size_t>(view.stage)]) return;
    double bytes = view.element_bytes;
    for (double extent : region(view)) bytes *= extent;
    if (scope == ir::Scope::kShared) launch.shared += bytes;
    if (scope == ir::Scope::kLocal) launch.registers += std::ceil(bytes / 4);
  }

  // Of the data axes, what is computed where the stage stands.
  std::vector<double> region(const StageView& view) const {
    const auto data = static_cast<ptrdiff_t>(nest_.stage(view.stage).data_rank);
    return {view.root_extents.begin(), view.root_extents.begin() + data};
  }

  const schedule::LoopNest& nest_;
  const schedule::Placement& placed_;
  std::map<int, Counts> launches_;
};

// Warps that a processor holds at a time; 0: not even one block's.
double resident_warps(const Counts& launch, const DeviceRates& device) {
  const double warps = std::ceil(launch.threads / kWarp);
  const double registers = std::min(launch.registers, kMostRegisters) * warps * kWarp;
  double blocks = std::min(std::floor(device.threads / (warps * kWarp)), std::floor(kRegisters / registers));
  if (launch.shared > 0)
    blocks = std::min(blocks, std::floor(static_cast<double>(device.shared_bytes) / launch.shared));
  return blocks * warps;
}

double seconds_of(const Counts& launch, const DeviceRates& device) {
  const double resident = resident_warps(launch, device);
  if (resident < 1) return std::numeric_limits<double>::infinity();
  const double processors = device.processors, warps = std::ceil(launch.threads / kWarp);
  const double used = launch.blocks / (std::ceil(launch.blocks / processors) * processors);
  const double held = std::min(resident, warps * std::ceil(launch.blocks / processors));
  const double hidden = std::min(1.0, held / kHiding);
  const double cycles = processors * used * hidden * device.hertz;
  const double spilled = launch.registers > kMostRegisters ? kSpilled : 1;
  double bytes = 0;
  for (const auto& [buffer, size] : launch.bytes) bytes += size;
  const double terms[] = {launch.instructions * spilled * kWarp / device.lanes / cycles, launch.passes / cycles,
                          launch.sectors * kSector / (device.l2_bytes * used * hidden),
                          bytes / (device.memory * std::min(1.0, 2 * used * hidden))};
  double most = 0, sum = 0;
  for (double term : terms) most = std::max(most, term), sum += term;
  return kLaunch + most + kOverlap * (sum - most);
}

}  // namespace

double estimate_device_seconds(const schedule::Schedule& s, const schedule::Machine& machine) {
  const auto placed = schedule::place(s.nest(), {});
  if (!placed.ok()) return std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const auto& [stage, launch] : Launches(s.nest(), *placed).run())
    if (stage != schedule::kNone) seconds += seconds_of(launch, *machine.device);
  return seconds;
}

}  // namespace tw::autotune
