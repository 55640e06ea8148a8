#include "schedule/traffic.h"

#include <algorithm>
#include <cstdlib>

namespace tw::schedule {

double footprint(const AccessView& access, const std::vector<int64_t>& ranges, double line) {
  double bytes = access.element_bytes, row = bytes;
  bool whole = true;  // so far, from the last dimension on: then rows lie side by side
  for (size_t d = access.coefficients.size(); d-- > 0;) {
    int64_t walk = 0;
    for (size_t a = 0; a < ranges.size(); ++a) walk += std::abs(access.coefficients[d][a]) * (ranges[a] - 1);
    if (!access.divisors.empty()) walk /= access.divisors[d];
    const int64_t extent = access.affine ? std::min(1 + walk, access.shape[d]) : access.shape[d];
    bytes *= static_cast<double>(extent);
    if (whole) row *= static_cast<double>(extent);
    whole = whole && extent == access.shape[d];
  }
  return access.coefficients.empty() ? bytes : bytes * std::max(1.0, line / std::max(row, 1.0));
}

bool touches(const AccessView& access, const LoopView& loop) {
  for (const auto& coefficients : access.coefficients) {
    for (int root : loop.roots) {
      if (coefficients[static_cast<size_t>(root)] != 0) return true;
    }
  }
  return !access.affine;
}

namespace {

// The loops of a stage, or those around it as well.
struct Walk {
  std::vector<LoopView> loops;
  const std::vector<int64_t>& extents;  // of the root axes
  const std::vector<AccessView>& accesses;
  std::vector<int64_t> ranges(size_t depth) const { return ranges_of(loops, extents, depth); }
};

double working_set(const Walk& walk, size_t depth, double line) {
  const std::vector<int64_t> ranges = walk.ranges(depth);
  double bytes = 0;
  for (const AccessView& access : walk.accesses) bytes += footprint(access, ranges, line);
  return bytes;
}

// What is brought in when the working set of the loops from `depth` inwards stays.
double moved(const Walk& walk, const AccessView& access, size_t depth, double line) {
  double bytes = footprint(access, walk.ranges(depth), line);
  bool resident = true;  // in the loops next to the working set, data that does not change stays
  for (size_t l = depth; l-- > 0;) {
    if (resident && !touches(access, walk.loops[l])) continue;
    const double each = bytes * static_cast<double>(walk.loops[l].extent);
    // What neighbours share, lines and the overlap of a stencil, comes once while one loop walks along.
    bytes = resident ? std::min(each, footprint(access, walk.ranges(l), line)) : each;
    resident = false;
  }
  return bytes;
}

double moved(const Walk& walk, size_t depth, double line, double capacity) {
  double bytes = 0;
  for (const AccessView& access : walk.accesses) {
    const bool stays = access.scratch_bytes > 0 && access.scratch_bytes <= capacity;
    bytes += stays ? access.scratch_bytes : moved(walk, access, depth, line);
  }
  return bytes;
}

bool is_repeated(const LoopView& loop) {
  return loop.extent == 1 || loop.annotation == Annotation::kVectorized || loop.annotation == Annotation::kUnrolled;
}

}  // namespace

double traffic(const StageView& view, double capacity) {
  Walk walk{view.around, view.domain, view.accesses};
  walk.loops.insert(walk.loops.end(), view.loops.begin(), view.loops.end());
  size_t depth = 0;
  while (depth < walk.loops.size() && working_set(walk, depth, kCacheLine) > 0.75 * capacity) ++depth;
  return moved(walk, depth, kCacheLine, 0.75 * capacity);
}

double register_traffic(const StageView& view, double capacity) {
  const Walk walk{view.loops, view.root_extents, view.accesses};
  size_t depth = view.loops.size();
  while (depth > 0 && is_repeated(view.loops[depth - 1])) --depth;
  while (depth < view.loops.size() && working_set(walk, depth, 0) > capacity) ++depth;
  return moved(walk, depth, 0, 0) * view.enclosing;
}

}  // namespace tw::schedule
