// What products of warps multiply, and how their lanes read operands.
#include <algorithm>
#include <utility>

#include "schedule/bank_wavefronts.h"
#include "schedule/device_counts.h"
#include "schedule/warp_accesses.h"
#include "src/ir/warp_products.h"

namespace tw::schedule {

// Products of a warp. Each lane has its sums in registers from the first term to the last, and reads its part of an
// operand once for all sums that need it.
void DeviceCounter::multiplies(const ir::WarpProduct& product, const StageView& view, LaunchAccount& launch,
                               double times, StageAccount& stage) {
  const WarpLoops tile = warp_loops(view);
  const double groups = launch.blocks * std::max(1.0, launch.threads / product.lanes), warps = product.lanes / kWarp;
  const double all = groups * times * tile.outside * tile.sums * tile.terms;
  stage.products += all * product.m * product.n * product.k * product.operand.bits / 16;
  stage.operations += all * product.m * product.n * product.k * view.operations;
  stage.instructions += all * warps;
  launch.lockstep = product.lanes == ir::kLanesOfWarp;
  launch.registers += tile.sums * ir::elements_of(product, ir::Fragment::kSum);
  for (const AccessView& access : view.accesses) {
    const int source = source_of(view, access);
    if (scope_of(source) == ir::Scope::kLocal) continue;
    const std::vector<double> strides = strides_of(access, source);
    const double m = stride_of(access, *tile.m, strides), n = stride_of(access, *tile.n, strides),
                 k = stride_of(access, *tile.k, strides);
    const ir::Fragment which = access.store ? ir::Fragment::kSum : n > 0 ? ir::Fragment::kRight : ir::Fragment::kLeft;
    const double row = which == ir::Fragment::kRight ? k : m, column = which == ir::Fragment::kLeft ? k : n;
    const FragmentAccesses parts = fragment_accesses(product, which, (access.store ? n : k) == 1);
    double often = access.store ? all * warps / tile.terms : all;
    if (!access.store && product.lanes > ir::kLanesOfWarp) {  // tensor cores read it themselves, whatever repeats it
      const double bytes = (which == ir::Fragment::kLeft ? product.m : product.n) * product.k * access.element_bytes;
      stage.requests += all;
      stage.least += all * bytes / kBanks;
      stage.wavefronts += all * bytes / kBanks;
      continue;
    }
    for (const LoopView* loop : tile.repeated)
      if (!access.store && stride_of(access, *loop, strides) == 0) often /= static_cast<double>(loop->extent);
    const int bytes = access.element_bytes;
    const bool shared = scope_of(source) == ir::Scope::kShared;
    const bool transposed = k != 1;
    const double beside = which == ir::Fragment::kLeft ? m : n;
    const bool matrices =  // ldmatrix
        shared && !access.store && bytes <= 4 && (!transposed || (bytes == 2 && beside == 1));
    if (!matrices) often *= parts.count;
    std::vector<int64_t> at = matrices ? matrix_addresses(product, which, row * bytes, column * bytes, transposed)
                                       : lane_addresses(product, which, row * bytes, column * bytes);
    if (const double next = which == ir::Fragment::kRight && matrices ? next_fragment(tile, access, strides) : 0) {
      often /= 2;  // one load brings two
      for (size_t lane = 0, lanes = at.size(); lane < lanes; ++lane)
        at.push_back(at[lane] + static_cast<int64_t>(next * bytes));
    }
    stage.instructions += often;
    if (!shared) {
      to_memory(access, often * static_cast<double>(pieces_of(at, static_cast<int64_t>(kSector))), stage);
      continue;
    }
    exchange(source, at);
    const int64_t width = matrices ? ir::kMatrixRowBytes : int64_t{parts.elements} * bytes;
    const double least = std::max(1.0, static_cast<double>(at.size()) * static_cast<double>(width) / kBanks);
    stage.requests += often;
    stage.least += often * least;
    stage.wavefronts += often * std::max(least, static_cast<double>(bank_wavefronts(at, width)));
  }
}

// How far apart the fragments of two iterations of their innermost loop are, where these come in pairs; else 0.
double DeviceCounter::next_fragment(const WarpLoops& tile, const AccessView& access,
                                    const std::vector<double>& strides) {
  for (auto loop = tile.repeated.rbegin(); loop != tile.repeated.rend(); ++loop)
    if (const double stride = stride_of(access, **loop, strides); stride != 0)
      return (*loop)->extent % 2 == 0 ? stride : 0;
  return 0;
}

DeviceCounter::WarpLoops DeviceCounter::warp_loops(const StageView& view) {
  WarpLoops out;
  for (const LoopView& loop : view.loops) {
    if (loop.reduction) out.k = &loop;
    if (!loop.reduction) out.m = std::exchange(out.n, &loop);
  }
  bool reduces = false;
  for (const LoopView& loop : view.loops) {
    reduces = reduces || loop.reduction;
    if (is_bound(loop.annotation) || &loop == out.m || &loop == out.n || &loop == out.k) continue;
    (loop.reduction ? out.terms : reduces ? out.sums : out.outside) *= static_cast<double>(loop.extent);
    if (reduces && !loop.reduction) out.repeated.push_back(&loop);
  }
  return out;
}

}  // namespace tw::schedule
