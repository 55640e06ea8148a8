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

double working_set(const StageView& view, size_t depth, double line) {
  const std::vector<int64_t> ranges = view.ranges(depth);
  double bytes = 0;
  for (const AccessView& access : view.accesses) bytes += footprint(access, ranges, line);
  return bytes;
}

// What is brought in when the working set of the loops from `depth` inwards stays.
double moved(const StageView& view, const AccessView& access, size_t depth, double line) {
  double bytes = footprint(access, view.ranges(depth), line);
  bool resident = true;  // in the loops next to the working set, data that does not change stays
  for (size_t l = depth; l-- > 0;) {
    if (resident && !touches(access, view.loops[l])) continue;
    const double each = bytes * static_cast<double>(view.loops[l].extent);
    // What neighbours share, lines and the overlap of a stencil, comes once while one loop walks along.
    bytes = resident ? std::min(each, footprint(access, view.ranges(l), line)) : each;
    resident = false;
  }
  return bytes * view.enclosing;
}

double moved(const StageView& view, size_t depth, double line, double capacity) {
  double bytes = 0;
  for (const AccessView& access : view.accesses) {
    const bool stays = access.scratch_bytes > 0 && access.scratch_bytes <= capacity;
    bytes += stays ? access.scratch_bytes : moved(view, access, depth, line);
  }
  return bytes;
}

bool is_repeated(const LoopView& loop) {
  return loop.extent == 1 || loop.annotation == Annotation::kVectorized || loop.annotation == Annotation::kUnrolled;
}

}  // namespace

double traffic(const StageView& view, double capacity) {
  size_t depth = 0;
  while (depth < view.loops.size() && working_set(view, depth, kCacheLine) > 0.75 * capacity) ++depth;
  return moved(view, depth, kCacheLine, 0.75 * capacity);
}

double register_traffic(const StageView& view, double capacity) {
  size_t depth = view.loops.size();
  while (depth > 0 && is_repeated(view.loops[depth - 1])) --depth;
  while (depth < view.loops.size() && working_set(view, depth, 0) > capacity) ++depth;
  return moved(view, depth, 0, 0);
}

}  // namespace tw::schedule
