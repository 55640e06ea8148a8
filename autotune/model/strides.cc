#include "autotune/model/strides.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/ir/register_lanes.h"
#include "tensorwright/machine.h"

namespace tw::autotune {

using schedule::AccessView;
using schedule::LoopView;
using schedule::StageView;

namespace {

// How far the access goes along dimension d when the loop takes one step; a fused loop steps along its last axis.
int64_t stride_in(const AccessView& access, const LoopView& loop, size_t d) {
  if (loop.roots.empty()) return 0;
  return access.coefficients[d][static_cast<size_t>(loop.roots.back())] * loop.step;
}

int64_t stride_along(const AccessView& access, int root) {
  int64_t elements = 0, row = 1;
  for (size_t d = access.coefficients.size(); d-- > 0; row *= access.shape[d])
    elements += access.coefficients[d][static_cast<size_t>(root)] * row;
  return elements;
}

// Loads of a vector whose lanes run over several axes, of which the last is shorter; one that is shuffled where what
// is between lies in a register, too. 0 where each lane is loaded by itself.
int64_t loads_over_axes(const StageView& view, const AccessView& access, const LoopView& vector, double lanes) {
  if (!access.affine || !access.divisors.empty() || vector.step != 1) return 0;
  const int64_t last = view.root_extents[static_cast<size_t>(vector.roots.back())];
  const int64_t step = stride_along(access, vector.roots.back()),
                next = stride_along(access, *(vector.roots.end() - 2));
  if (step == 1 && next == last) return 1;
  const double span = static_cast<double>(std::abs(next)) * lanes / static_cast<double>(last) +
                      static_cast<double>(std::abs(step) * (last - 1));
  return vector.extent % last == 0 && span <= lanes ? 2 : 0;
}

}  // namespace

bool moves_along(const AccessView& access, size_t axis) {
  const auto moves = [&](const std::vector<int64_t>& coefficients) { return coefficients[axis] != 0; };
  return !access.affine || std::ranges::any_of(access.coefficients, moves);
}

bool is_contiguous(const AccessView& access, const LoopView& vector) {
  if (!access.affine || access.coefficients.empty()) return false;
  const size_t last = access.coefficients.size() - 1;
  for (size_t d = 0; d < last; ++d) {
    const int64_t walk = std::abs(stride_in(access, vector, d)) * (vector.extent - 1);
    if (walk / (access.divisors.empty() ? 1 : access.divisors[d]) != 0) return false;
  }
  return stride_in(access, vector, last) == 1;
}

int64_t byte_stride(const AccessView& access, const LoopView& loop) {
  int64_t bytes = 0, row = access.element_bytes;
  for (size_t d = access.coefficients.size(); d-- > 0;) {
    bytes += stride_in(access, loop, d) / (access.divisors.empty() ? 1 : access.divisors[d]) * row;
    row *= access.shape[d];
  }
  return access.affine ? std::abs(bytes) : 0;
}

int64_t loads_of_a_register(const StageView& view, const AccessView& access, const LoopView& vector, double lanes) {
  if (vector.roots.size() > 1 && !access.store &&
      view.root_extents[static_cast<size_t>(vector.roots.back())] < vector.extent)
    return loads_over_axes(view, access, vector, lanes);
  if (is_contiguous(access, vector)) return 1;
  const int64_t stride = access.store ? 0 : byte_stride(access, vector) / access.element_bytes;
  return stride >= 2 && stride <= ir::kFewApart && lanes >= static_cast<double>(2 * stride) ? stride : 0;
}

double lines_of_a_set(const std::vector<Walk>& walks) {
  constexpr size_t kMostRows = 1024;
  std::vector<int64_t> starts = {0};
  for (const Walk& walk : walks) {
    if (walk.stride < kCacheLineBytes) continue;
    const size_t before = starts.size();
    if (before * static_cast<size_t>(walk.rows) > kMostRows) break;
    for (int64_t i = 1; i < walk.rows; ++i)
      for (size_t s = 0; s < before; ++s) starts.push_back(starts[s] + i * walk.stride);
  }
  if (starts.size() == 1) return 0;
  for (int64_t& start : starts) start /= kCacheLineBytes;
  std::ranges::sort(starts);
  starts.erase(std::ranges::unique(starts).begin(), starts.end());
  std::array<int, kL1WayBytes / kCacheLineBytes> sets = {};
  for (const int64_t line : starts) ++sets[static_cast<size_t>(line) % sets.size()];
  return *std::ranges::max_element(sets);
}

}  // namespace tw::autotune
