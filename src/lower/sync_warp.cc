#include "src/lower/sync_warp.h"

#include <algorithm>

namespace tw::lower {

using namespace ir;

// thread = warp * 32 + lane, and an index is a digit of it. Where a digit's place lies within a warp or without, it is
// one of the lane's number or of the warp's; where it lies in both, the sum of one of each.
std::optional<WarpIndices> warp_indices(const LaunchIndices& launch, const std::unordered_map<uint64_t, int>& axis,
                                        int64_t lanes) {
  std::vector<OwnVariable> by_axis = launch.threads;
  std::ranges::sort(by_axis, {}, [&](const OwnVariable& v) { return axis.at(v.var.id()); });
  int64_t threads = 1;
  for (const OwnVariable& v : by_axis) {
    const auto extent = as_int(v.extent);
    if (!extent || *extent < 1 || *extent > 1024) return {};
    threads *= *extent;
  }
  if (threads % lanes != 0) return {};
  const Var warp("warp"), lane("lane");
  WarpIndices out;
  out.ranges = {{warp, Expr(threads / lanes)}, {lane, Expr(lanes)}};
  out.indices.blocks = launch.blocks;
  out.indices.blocks.push_back(out.ranges[0]);
  out.indices.threads = {out.ranges[1]};
  int64_t below = 1;  // threads that differ in faster indices only
  for (const OwnVariable& v : by_axis) {
    const int64_t extent = *as_int(v.extent), above = below * extent;
    Expr index;
    if (below % lanes == 0) {
      index = floormod(floordiv(Expr(warp), Expr(below / lanes)), Expr(extent));
    } else if (lanes % above == 0) {
      index = floormod(floordiv(Expr(lane), Expr(below)), Expr(extent));
    } else if (lanes % below == 0 && above % lanes == 0) {
      index = floormod(Expr(warp), Expr(above / lanes)) * Expr(lanes / below) + floordiv(Expr(lane), Expr(below));
    } else {
      index = floormod(floordiv(Expr(warp) * Expr(lanes) + Expr(lane), Expr(below)), Expr(extent));
    }
    out.threads[v.var.id()] = index;
    below = above;
  }
  return out;
}

}  // namespace tw::lower
