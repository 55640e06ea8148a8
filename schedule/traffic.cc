#include "schedule/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace tw::schedule {

namespace {

constexpr double kUsed = 0.75;  // share of a cache that a working set can count on
constexpr int64_t kL2Ways = 8;
constexpr double kPage = 4096;
constexpr double kTranslations = 64;   // that a core has at hand
constexpr double kStreams = 8;         // runs that a core reads on and on at a time
constexpr double kFollowed = 2048;     // bytes between lines of one run, at most
constexpr double kBeforeStream = 768;  // bytes of a run that come before a core reads ahead in it

// Of the box that the access touches.
int64_t extent_along(const AccessView& access, const std::vector<int64_t>& ranges, size_t d) {
  if (!access.affine) return access.shape[d];
  int64_t walk = 0;
  for (size_t a = 0; a < ranges.size(); ++a) walk += std::abs(access.coefficients[d][a]) * (ranges[a] - 1);
  if (!access.divisors.empty()) walk /= access.divisors[d];
  return std::min(1 + walk, access.shape[d]);
}

// By an access of whose subscripts no more is known than how often they are asked for.
double bytes_read(const AccessView& access, const std::vector<int64_t>& ranges, double line) {
  double bytes = access.scattered ? std::max<double>(line, access.element_bytes) : access.element_bytes;
  for (int64_t range : ranges) bytes *= static_cast<double>(range);
  return bytes;
}

}  // namespace

Cache l1_of(const Machine& machine) { return {static_cast<double>(machine.l1_bytes), kL1WayBytes}; }
Cache l2_of(const Machine& machine) { return {static_cast<double>(machine.l2_bytes), machine.l2_bytes / kL2Ways}; }

double footprint(const AccessView& access, const std::vector<int64_t>& ranges, double line) {
  double bytes = access.element_bytes, row = bytes, all = bytes, most = 0;
  bool whole = true;  // so far, from the last dimension on: then rows lie side by side
  for (size_t d = access.coefficients.size(); d-- > 0;) {
    const auto extent = static_cast<double>(extent_along(access, ranges, d));
    // Of short rows no more than the rows: one channel of pixels lies in the lines of all channels.
    most = all < kCacheLineBytes ? std::max(line, extent * all) : most * extent;
    bytes *= extent;
    if (whole) row *= extent;
    all *= static_cast<double>(access.shape[d]);
    whole = whole && extent == static_cast<double>(access.shape[d]);
  }
  if (!access.affine) return std::min(bytes, bytes_read(access, ranges, line));
  if (access.coefficients.empty()) return bytes;
  return std::min(most, bytes * std::max(1.0, line / std::max(row, 1.0)));
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

// Whether a part is stored alone, without the rows around it.
bool is_compact(const AccessView& access) {
  double all = access.element_bytes;
  for (int64_t extent : access.shape) all *= static_cast<double>(extent);
  return access.scratch_bytes > 0 && access.scratch_bytes < all;
}

// Lines in each of the sets that the access reaches.
double lines_in_a_set(const AccessView& access, const std::vector<int64_t>& ranges, int64_t way) {
  const double sets_of_all = static_cast<double>(way) / kCacheLineBytes;
  double lines = 1, sets = 1, run = access.element_bytes;
  int64_t stride = access.element_bytes;
  bool whole = true;  // so far, from the last dimension on: then rows lie side by side
  for (size_t d = access.coefficients.size(); d-- > 0;) {
    const int64_t extent = extent_along(access, ranges, d);
    if (whole) {
      run *= static_cast<double>(extent);
    } else {
      lines *= static_cast<double>(extent);
      sets *= static_cast<double>(std::min(extent, way / std::gcd(stride, way)));
    }
    whole = whole && extent == access.shape[d];
    stride *= access.shape[d];
  }
  const double of_a_run = std::max(1.0, run / kCacheLineBytes);
  return lines * of_a_run / std::min(sets_of_all, sets * of_a_run);
}

// Of the access's lines in the loops from `depth` inwards, how many stay, and the loops further in during which no set
// has to give up any. Beyond a page it is the pages that decide where lines lie: some stay; else those that come round
// in turn drive each other out.
struct Crowd {
  double stays = 1;
  size_t depth = 0;
};
Crowd crowd(const Walk& walk, const AccessView& access, size_t depth, const Cache& cache) {
  if (cache.way == 0 || !access.affine || is_compact(access)) return {1, depth};
  const double room = kUsed * cache.bytes / static_cast<double>(cache.way);
  const auto lines = [&](size_t from) { return lines_in_a_set(access, walk.ranges(from), cache.way); };
  const double share = std::min(1.0, room / lines(depth));
  Crowd crowd{cache.way > kL1WayBytes ? share : std::floor(share), depth};
  while (crowd.depth < walk.loops.size() && lines(crowd.depth) > room) ++crowd.depth;
  return crowd;
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

// Of memory that holds a part of a stage, how much stays while it is gone over again and again: in the first cache what
// else is read meanwhile takes its room, a panel that streams by no less than what is kept.
double share_that_stays(const Walk& walk, const AccessView& access, double line, const Cache& cache) {
  if (access.scratch_bytes <= 0 || access.scratch_bytes > kUsed * cache.bytes) return 0;
  if (cache.way != kL1WayBytes) return 1;
  size_t depth = walk.loops.size();
  const auto touched = [&] { return footprint(access, walk.ranges(depth), line); };
  while (depth > 0 && touched() < access.scratch_bytes) --depth;
  const double others = std::max(0.0, working_set(walk, depth, line) - touched());
  return std::clamp((cache.bytes - others) / access.scratch_bytes, 0.0, 1.0);
}

double moved_into(const Cache& cache, const Walk& walk, const AccessView& access, size_t depth, double line) {
  const double stays = share_that_stays(walk, access, line, cache), kept = stays * access.scratch_bytes;
  if (stays == 1) return kept;
  const Crowd crowded = crowd(walk, access, depth, cache);
  return kept + (1 - stays) * (crowded.stays * moved(walk, access, depth, line) +
                               (1 - crowded.stays) * moved(walk, access, crowded.depth, line));
}

bool is_repeated(const LoopView& loop) {
  return loop.extent == 1 || loop.annotation == Annotation::kVectorized || loop.annotation == Annotation::kUnrolled;
}

// What lies side by side, or a little apart, and is read on and on, beside few other such runs.
double bytes_of_a_run(const Walk& walk, const AccessView& access) {
  double longest = kCacheLineBytes;
  for (size_t depth = walk.loops.size() + 1; depth-- > 0;) {
    const std::vector<int64_t> ranges = walk.ranges(depth);
    double run = access.element_bytes, runs = 1, stride = run;
    bool whole = true;  // so far, from the last dimension on: then rows lie side by side
    for (size_t d = access.coefficients.size(); d-- > 0;) {
      const auto extent = static_cast<double>(extent_along(access, ranges, d));
      if (whole || stride <= kFollowed)
        run = stride * extent;
      else
        runs *= extent;
      whole = whole && extent == static_cast<double>(access.shape[d]);
      stride *= static_cast<double>(access.shape[d]);
    }
    if (runs > kStreams) break;
    longest = std::max(longest, run);
  }
  return longest;
}

Walk with_consumers(const StageView& view) {
  Walk walk{view.around, view.domain, view.accesses};
  walk.loops.insert(walk.loops.end(), view.loops.begin(), view.loops.end());
  return walk;
}

// The loops whose working set stays.
size_t depth_that_stays(const Walk& walk, const Cache& cache, double line) {
  size_t depth = 0;
  while (depth < walk.loops.size() && working_set(walk, depth, line) > kUsed * cache.bytes) ++depth;
  return depth;
}

double traffic(const StageView& view, const Cache& cache, double line) {
  const Walk walk = with_consumers(view);
  const size_t depth = depth_that_stays(walk, cache, line);
  double bytes = 0;
  for (const AccessView& access : walk.accesses) bytes += moved_into(cache, walk, access, depth, line);
  return bytes;
}

}  // namespace

double traffic(const StageView& view, const Cache& cache) { return traffic(view, cache, kCacheLineBytes); }

double page_translations(const StageView& view) { return traffic(view, {kTranslations * kPage}, kPage) / kPage; }

double lines_before_streams(const StageView& view, const Cache& cache) {
  const Walk walk = with_consumers(view);
  const size_t depth = depth_that_stays(walk, cache, kCacheLineBytes);
  double bytes = 0;
  for (const AccessView& access : walk.accesses) {
    if (access.store || !access.affine) continue;
    const double run = bytes_of_a_run(walk, access);
    bytes += moved_into(cache, walk, access, depth, kCacheLineBytes) * std::min(1.0, kBeforeStream / run);
  }
  return bytes / kCacheLineBytes;
}

double register_traffic(const StageView& view, double capacity) {
  const Walk walk{view.loops, view.root_extents, view.accesses};
  size_t depth = view.loops.size();
  while (depth > 0 && is_repeated(view.loops[depth - 1])) --depth;
  while (depth < view.loops.size() && working_set(walk, depth, 0) > capacity) ++depth;
  double bytes = 0;
  for (const AccessView& access : walk.accesses) bytes += moved_into(Cache{}, walk, access, depth, 0);
  return bytes * view.enclosing;
}

}  // namespace tw::schedule
