#include "schedule/traffic.h"

#include <algorithm>
#include <cstdlib>

namespace tw::schedule {

double footprint(const AccessView& access, const std::vector<int64_t>& ranges) {
  double bytes = access.element_bytes;
  for (size_t d = 0; d < access.coefficients.size(); ++d) {
    int64_t extent = 1;
    for (size_t a = 0; a < ranges.size(); ++a) extent += std::abs(access.coefficients[d][a]) * (ranges[a] - 1);
    if (!access.affine) extent = access.shape[d];
    bytes *= static_cast<double>(std::min(extent, access.shape[d]));
    if (d + 1 == access.coefficients.size()) {
      const double row = static_cast<double>(std::min<int64_t>(extent, access.shape[d])) * access.element_bytes;
      bytes *= std::max(1.0, 64.0 / std::max(row, 1.0));
    }
  }
  return bytes;
}

bool touches(const AccessView& access, const LoopView& loop) {
  for (const auto& coefficients : access.coefficients) {
    for (int root : loop.roots) {
      if (coefficients[static_cast<size_t>(root)] != 0) return true;
    }
  }
  return !access.affine;
}

double traffic(const StageView& view, double capacity) {
  std::vector<int64_t> ranges = view.ranges(0);
  const auto working_set = [&] {
    double bytes = 0;
    for (const AccessView& access : view.accesses) bytes += footprint(access, ranges);
    return bytes;
  };
  size_t depth = 0;
  while (depth < view.loops.size() && working_set() > 0.75 * capacity) ranges = view.ranges(++depth);
  double bytes = 0;
  for (const AccessView& access : view.accesses) {
    double moved = footprint(access, ranges);
    bool resident = true;  // in the loops next to the working set, data that does not change stays
    for (size_t l = depth; l-- > 0;) {
      resident = resident && !touches(access, view.loops[l]);
      if (!resident) moved *= static_cast<double>(view.loops[l].extent);
    }
    bytes += moved;
  }
  return bytes * view.enclosing;
}

}  // namespace tw::schedule
