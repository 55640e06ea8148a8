// What each thread computes and reads for itself: the addresses of a warp's threads, by the strides of loops.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "schedule/bank_wavefronts.h"
#include "schedule/device_counts.h"
#include "schedule/memory_strides.h"
#include "schedule/subscript_walk.h"
#include "schedule/swizzling.h"

namespace tw::schedule {

namespace {

constexpr double kPartOfSector = 2;  // what a store of it takes of L2, which has to read the rest

}  // namespace

// How far so many iterations of the loop move the access, in elements of a tensor of these strides. Of axes that were
// fused they go along the innermost, but for the ends of rows; neighbours of what is read by what is read lie anywhere.
double DeviceCounter::moved(const AccessView& access, const LoopView& loop, const std::vector<double>& strides,
                            int64_t iterations) {
  if (loop.roots.empty()) return 0;
  const auto root = static_cast<size_t>(loop.roots.back());
  if (!access.at.empty())
    return moved_to(access, root, loop.step * iterations, strides).value_or(kSector * static_cast<double>(iterations));
  if (!access.affine) return kSector * static_cast<double>(iterations);
  double stride = 0;
  for (size_t d = 0; d < access.shape.size(); ++d)
    stride += strides[d] * static_cast<double>(access.coefficients[d][root] * loop.step);
  return stride * static_cast<double>(iterations);
}

// How far one iteration moves it; of subscripts that are no sums of axes, those of a warp in the middle.
double DeviceCounter::stride_of(const AccessView& access, const LoopView& loop, const std::vector<double>& strides) {
  if (access.at.empty()) return std::abs(moved(access, loop, strides, 1));
  const int64_t steps = std::clamp<int64_t>(loop.extent - 1, 1, static_cast<int64_t>(kWarp) - 1);
  double all = 0, last = 0;
  for (int64_t n = 1; n <= steps; ++n) {
    const double here = moved(access, loop, strides, n);
    all += std::abs(here - std::exchange(last, here));
  }
  return all / static_cast<double>(steps);
}

// Of the tensor in memory, or of what a block or a thread keeps of it.
std::vector<double> DeviceCounter::strides_of(const AccessView& access, int source) const {
  std::vector<ir::Expr> shape;
  const StageView* kept = source == kNone ? nullptr : view_of_[static_cast<size_t>(source)];
  const bool part = kept != nullptr && placed_.parent[static_cast<size_t>(source)] != kNone &&
                    !nest_.stage(source).layout && kept->root_extents.size() >= access.shape.size();
  for (size_t d = 0; d < access.shape.size(); ++d) shape.emplace_back(part ? kept->root_extents[d] : access.shape[d]);
  std::vector<ir::Expr> aligned;
  if (part) aligned = aligned_strides(nest_.stage(source), shape);
  std::vector<double> strides(shape.size());
  double stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= static_cast<double>(ir::as_int(shape[d]).value_or(1))) {
    if (!aligned.empty()) stride = static_cast<double>(ir::as_int(aligned[d]).value_or(1));
    strides[d] = stride;
  }
  return strides;
}

// What each thread does for itself.
void DeviceCounter::computes(const StageView& view, const LaunchAccount& launch, double times, StageAccount& stage) {
  double trips = times;
  for (const LoopView& loop : view.loops)
    if (!is_bound(loop.annotation)) trips *= static_cast<double>(loop.extent);
  const double warps = launch.blocks * std::max(1.0, launch.threads / kWarp);
  stage.operations += warps * trips * kWarp * view.operations;
  stage.arithmetic += warps * trips * std::max(0.0, view.operations - view.fused);
  stage.instructions += warps * trips * std::max(1.0, view.operations - view.fused);
  for (const AccessView& access : view.accesses)
    accesses(view, access, warps * trips / (access.store ? terms_in_registers(view) : 1), stage);
}

// How many terms a sum adds before it is stored: all, where a thread's sums fit into registers meanwhile.
double DeviceCounter::terms_in_registers(const StageView& view) {
  double terms = 1, sums = 1;
  for (const LoopView& loop : view.loops) {
    if (loop.reduction)
      terms *= static_cast<double>(loop.extent);
    else if (terms > 1 && !is_bound(loop.annotation))
      sums *= static_cast<double>(loop.extent);
  }
  return sums <= kMostRegisters ? terms : 1;
}

// An access that some loops that are written out do not move happens once for all of these; one that a vector moves
// by one element, once for each 16 bytes.
void DeviceCounter::accesses(const StageView& view, const AccessView& access, double times, StageAccount& stage) {
  const int source = source_of(view, access);
  const ir::Scope scope = scope_of(source);
  if (scope == ir::Scope::kLocal) return;
  const std::vector<double> strides = strides_of(access, source);
  double vector = 1;
  for (const std::vector<LoopView>* loops : {&view.around, &view.loops})
    for (const LoopView& loop : *loops) {
      if (!is_written_out(loop, loops == &view.loops)) continue;
      const double stride = stride_of(access, loop, strides), extent = static_cast<double>(loop.extent);
      if (stride == 0) times /= extent;
      if (stride > 0 && stride < 1) {  // several parts of each element: neighbours that the nearest cache has
        const double elements = std::ceil(extent * stride);
        times /= extent / elements;
        vector = std::max(vector, std::min(elements, kVectorBytes / bytes_of(access)));
      }
      if (stride == 1 && loop.annotation == Annotation::kVectorized)
        vector = std::min(extent, std::max(1.0, kVectorBytes / bytes_of(access)));
    }
  if (scope == ir::Scope::kShared && !begins_vectors(view, access, source, strides, vector)) vector = 1;
  times /= vector;
  stage.instructions += times;
  const double width = vector * bytes_of(access);
  if (scope == ir::Scope::kShared) {
    const std::vector<int64_t> at = first_warp(view, access, strides);
    const auto different = static_cast<double>(std::set<int64_t>(at.begin(), at.end()).size());
    const double least = std::max(1.0, different * width / kBanks);
    stage.requests += times;
    stage.least += times * least;
    stage.wavefronts += times * std::max(least, wavefronts(access, source, at, width));
    return;
  }
  const Runs runs = runs_of_warp(view, access, strides, width);
  const double touched = times * runs.count * std::ceil(runs.bytes / kSector);
  to_memory(access, touched, stage);
  if (access.store && runs.bytes < kSector) stage.sectors += touched * (kPartOfSector - 1);
}

// Whether all that moves the access within what a block keeps moves it by whole vectors.
bool DeviceCounter::begins_vectors(const StageView& view, const AccessView& access, int source,
                                   const std::vector<double>& strides, double vector) const {
  const bool here = source != kNone && placed_.parent[static_cast<size_t>(source)] == view.stage;
  const size_t first = here ? static_cast<size_t>(placed_.level[static_cast<size_t>(source)]) + 1 : 0;
  const auto whole = [&](const LoopView& loop) {
    return loop.annotation == Annotation::kVectorized || loop.extent == 1 ||
           std::fmod(stride_of(access, loop, strides), vector) == 0;
  };
  const auto runs = [](const LoopView& loop) {
    return is_thread(loop.annotation) || loop.annotation == Annotation::kVirtual;
  };
  for (const LoopView& loop : view.around)
    if (runs(loop) && !whole(loop)) return false;
  for (size_t i = 0; i < view.loops.size(); ++i)
    if ((i >= first || runs(view.loops[i])) && !whole(view.loops[i])) return false;
  return true;
}

bool DeviceCounter::is_written_out(const LoopView& loop, bool own) {
  if (loop.annotation == Annotation::kVirtual) return true;
  return own && (loop.annotation == Annotation::kVectorized || loop.annotation == Annotation::kUnrolled);
}

// The loops over the threads of a warp, the fastest first; of one that was fused, what it was fused of.
std::vector<std::pair<LoopView, double>> DeviceCounter::warp_of(const StageView& view) {
  std::vector<std::pair<LoopView, double>> loops;
  double left = kWarp;
  for (Annotation index : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ})
    for (const std::vector<LoopView>* all : {&view.around, &view.loops})
      for (const LoopView& loop : *all) {
        if (loop.annotation != index) continue;
        const std::vector<LoopView> itself{loop}, &parts = loop.parts.empty() ? itself : loop.parts;
        for (auto part = parts.rbegin(); part != parts.rend() && left > 1; ++part) {
          loops.emplace_back(*part, std::min(left, static_cast<double>(part->extent)));
          left /= static_cast<double>(part->extent);
        }
      }
  return loops;
}

// Where the accesses of the first warp's threads begin, in bytes: threads are numbered along x, then y, then z.
std::vector<int64_t> DeviceCounter::first_warp(const StageView& view, const AccessView& access,
                                               const std::vector<double>& strides) {
  const std::vector<std::pair<LoopView, double>> loops = warp_of(view);
  int64_t threads = 1;
  for (const auto& [loop, reached] : loops) threads *= loop.extent;
  std::vector<int64_t> at;
  for (int64_t thread = 0; thread < std::min(threads, static_cast<int64_t>(kWarp)); ++thread) {
    int64_t left = thread, byte = 0;
    for (const auto& [loop, reached] : loops) {
      const int64_t iterations = std::exchange(left, left / loop.extent) % loop.extent;
      byte += static_cast<int64_t>(std::abs(moved(access, loop, strides, iterations)) * bytes_of(access));
    }
    at.push_back(byte);
  }
  return at;
}

double DeviceCounter::wavefronts(const AccessView& access, int source, std::vector<int64_t> at, double width) const {
  if (!access.affine && access.at.empty()) return 1;
  exchange(source, at);
  return static_cast<double>(bank_wavefronts(at, static_cast<int64_t>(width)));
}

// Bytes of what is kept of a stage, where swizzle puts them.
void DeviceCounter::exchange(int source, std::vector<int64_t>& bytes) const {
  const StageView* kept = view_of_[static_cast<size_t>(source)];
  if (kept == nullptr || nest_.stage(source).swizzled == 0) return;
  const std::vector<Extent> region(kept->root_extents.begin(), kept->root_extents.end());
  const Swizzling swizzling = swizzling_of(nest_, placed_, source, region);
  for (int64_t& byte : bytes) byte = swizzled_byte(swizzling, byte);
}

// What a warp touches side by side.
DeviceCounter::Runs DeviceCounter::runs_of_warp(const StageView& view, const AccessView& access,
                                                const std::vector<double>& strides, double width) {
  double count = 1, side_by_side = width;
  for (const auto& [loop, threads] : warp_of(view)) {
    const double stride = stride_of(access, loop, strides) * bytes_of(access);
    if (stride == 0) continue;
    if (stride <= side_by_side)
      side_by_side += (threads - 1) * stride;
    else
      count *= stride >= kSector ? threads : std::max(1.0, threads * stride / kSector);
  }
  return {count, side_by_side};
}

}  // namespace tw::schedule
