#include "autotune/model/cut_tiles.h"

#include <algorithm>
#include <bit>

namespace tw::autotune {

using schedule::LoopView;
using schedule::StageView;

namespace {

// All loops from outside in, fused ones as those they run through.
std::vector<LoopView> single_loops(const StageView& view) {
  std::vector<LoopView> loops;
  for (const std::vector<LoopView>* some : {&view.around, &view.loops})
    for (const LoopView& loop : *some) {
      if (loop.parts.empty())
        loops.push_back(loop);
      else
        loops.insert(loops.end(), loop.parts.begin(), loop.parts.end());
    }
  return loops;
}

// Positions along the axis that the loops visit, each once; 0 where they overlap or walk along others too.
int64_t visited(const std::vector<LoopView>& loops, int axis) {
  int64_t visited = 1;
  for (size_t l = loops.size(); l-- > 0;) {
    const LoopView& loop = loops[l];
    if (loop.extent == 1 || std::find(loop.roots.begin(), loop.roots.end(), axis) == loop.roots.end()) continue;
    if (loop.roots.size() > 1 || loop.step != visited) return 0;
    visited *= loop.extent;
  }
  return visited;
}

// Without masks: the end is as many as it is powers of two.
double vectors(int64_t points, int64_t lanes) {
  return static_cast<double>(points / lanes + std::popcount(static_cast<uint64_t>(points % lanes)));
}

}  // namespace

std::vector<CutAxis> cut_axes(const StageView& view, const std::vector<Tile>& tiles) {
  const std::vector<LoopView> loops = single_loops(view);
  std::vector<CutAxis> axes(view.domain.size());
  for (size_t a = 0; a < axes.size(); ++a) {
    const auto [tile, grain, least, in_parts] = tiles[a];
    const int64_t all = visited(loops, static_cast<int>(a)), n = view.domain[a];
    if (tile <= 1 || all <= n || all % tile != 0) continue;
    const int64_t rest = n % tile;
    const double left = in_parts ? vectors(rest, grain) / vectors(tile, grain)
                                 : static_cast<double>((rest + grain - 1) / grain * grain) / static_cast<double>(tile);
    const double cut = left > 0 ? std::clamp(left, least, std::max(1.0, in_parts ? left : 0)) : 0;
    const double whole = static_cast<double>(n / tile), visits = static_cast<double>(all / tile);
    axes[a] = {(whole + cut) / visits, (whole + (left > 0 ? 1 : 0)) / visits};
  }
  return axes;
}

}  // namespace tw::autotune
