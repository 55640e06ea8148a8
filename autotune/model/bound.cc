// A bound on the time of any run: the work that a nest is certain to do, on a CPU that is faster than any that is sold.
#include "autotune/model/bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "schedule/nest_view.h"
#include "schedule/traffic.h"
#include "src/ir/tile_products.h"
#include "src/ir/walk.h"

namespace tw::autotune {

namespace {

// Of any CPU that is sold.
constexpr double kFastestClock = 6e9;
constexpr double kPipes = 4;           // for vectors
constexpr double kTileBytes = 4096;    // of factors that meet in a cycle where whole tiles are multiplied
constexpr double kBytesPerCycle = 64;  // from one cache of a core into the next
constexpr double kRoom = 2;            // times a cache: what may be kept in it, in registers and on the way

using schedule::AccessView;
using schedule::LoopNest;
using schedule::LoopView;
using schedule::Machine;
using schedule::StageNest;
using schedule::StageView;

// Whether the access visits every element while the reader's root axes run: each dimension by an axis of its own.
bool visits_all(const AccessView& access, const std::vector<schedule::Axis>& axes) {
  if (!access.affine) return false;
  std::vector<bool> used(axes.size());
  for (size_t d = 0; d < access.coefficients.size(); ++d) {
    int along = schedule::kNone;
    for (size_t a = 0; a < access.coefficients[d].size(); ++a) {
      if (access.coefficients[d][a] == 0) continue;
      if (along != schedule::kNone || used[a] || std::abs(access.coefficients[d][a]) != 1) return false;
      along = static_cast<int>(a);
      used[a] = true;
    }
    const int64_t extent = along == schedule::kNone ? 1 : axes[static_cast<size_t>(along)].extent.value_or(0);
    if (extent < access.shape[d]) return false;
  }
  return true;
}

// Of each stage whether a condition decides what it reads, its own or that of a stage that is inlined into it.
std::vector<bool> conditional_stages(const LoopNest& nest) {
  std::vector<bool> conditional(static_cast<size_t>(nest.size()));
  for (int i = 0; i < nest.size(); ++i) {
    bool found = false;
    for (const ir::Expr& body : nest.stage(i).bodies) {
      ir::walk(body, [&](const ir::Expr& e) {
        found = found || ir::as<ir::Select>(e) != nullptr;
        const auto* load = ir::as<ir::Load>(e);
        const int read = load ? nest.find_stage(load->buffer.id()) : schedule::kNone;
        if (read != schedule::kNone && nest.stage(read).attach.kind == schedule::AttachKind::kInline)
          found = found || conditional[static_cast<size_t>(read)];
        return !found;
      });
    }
    conditional[static_cast<size_t>(i)] = found;
  }
  return conditional;
}

// Stages of which every element is computed, whatever their place: outputs, and what such a stage reads whole without a
// condition. Of others nothing is claimed.
std::vector<bool> computed_whole(const LoopNest& nest, const std::vector<StageView>& views,
                                 const std::vector<bool>& conditional) {
  std::vector<bool> whole(static_cast<size_t>(nest.size()));
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    const auto at = static_cast<size_t>(view->stage);
    const StageNest& stage = nest.stage(view->stage);
    whole[at] = (whole[at] || stage.output) && !stage.store_predicate;
    if (!whole[at] || conditional[at]) continue;
    for (const AccessView& access : view->accesses) {
      const int read = nest.find_stage(access.buffer);
      if (!access.store && read != schedule::kNone && !nest.stage(read).layout && visits_all(access, stage.axes))
        whole[static_cast<size_t>(read)] = true;
    }
  }
  return whole;
}

// Iterations of all axes of the stage, over its whole domain.
double points_of(const StageNest& stage) {
  double points = 1;
  for (int a = 0; a < stage.data_rank + stage.reduce_rank; ++a)
    points *= static_cast<double>(stage.axes[static_cast<size_t>(a)].extent.value_or(1));
  return points;
}

// Terms that are added for certain: under a condition those of a sum in floating point, since adding 0 there is no
// identity, unless the condition is about the term itself.
double certain_terms(const StageView& view, const StageNest& stage, bool conditional) {
  const ir::Reduce* reduce = stage.reduction();
  if (reduce == nullptr || stage.bodies.size() != 1) return 0;
  const bool sums = reduce->op == ir::ReduceOp::kSum && stage.bodies[0].type().is_float();
  if (conditional && (!sums || ir::as<ir::Binary>(reduce->sources[0]) == nullptr)) return 0;
  return points_of(stage) * view.certain;
}

// Whether lowering may give lanes to a loop, and move it inwards: the schedule gave them to none.
bool left_plain(const StageView& view) {
  return std::none_of(view.loops.begin(), view.loops.end(), [](const LoopView& loop) {
    return loop.annotation == schedule::Annotation::kVectorized && loop.extent > 1;
  });
}

// Terms that one cycle of one core adds at most.
double terms_per_cycle(const StageView& view, const StageNest& stage, const Machine& machine) {
  int narrowest = view.element_bytes;
  for (const AccessView& access : view.accesses) narrowest = std::min(narrowest, access.element_bytes);
  const double full = std::max(1.0, machine.vector_bits / (8.0 * std::max(1, narrowest)));
  if (stage.tensorized.axis != schedule::kNone)
    return ir::has_tile_product(stage.tensorized.intrin->does.update) ? kTileBytes / std::max(1, narrowest)
                                                                      : kPipes * full;
  double lanes = left_plain(view) ? full : 1;
  for (const LoopView& loop : view.loops) {
    const auto n = static_cast<double>(loop.extent);
    if (loop.annotation == schedule::Annotation::kVectorized && loop.extent > 1) lanes = n / std::ceil(n / full);
  }
  const bool measured = machine.known.source != Rates{}.source;
  if (!measured || view.fused == 0) return kPipes * lanes;
  return std::min(2.0, machine.known.issue * full / lanes) * lanes;
}

// Distinct bytes that an access reads for certain while each axis takes so many values; 0 where nobody knows.
double bytes_read(const AccessView& access, const std::vector<double>& values) {
  if (access.store || !access.affine || !access.divisors.empty() || access.coefficients.empty()) return 0;
  std::vector<bool> used(values.size());
  double rows = 1, row = 1;  // distinct subscripts of the dimensions but the last, and of that one
  for (size_t d = 0; d < access.coefficients.size(); ++d) {
    rows *= row;
    row = 1;
    for (size_t a = 0; a < values.size(); ++a) {
      if (access.coefficients[d][a] == 0) continue;
      if (used[a]) return 0;
      used[a] = true;
      row = std::max(row, values[a]);
    }
  }
  const double elements = rows * row * access.element_bytes;
  const bool apart = static_cast<double>(access.shape.back()) * access.element_bytes >= kCacheLineBytes;
  return apart ? std::max(elements, rows * kCacheLineBytes) : elements;
}

// Whether what the access reads lies in memory as it was declared: it does not come about beside the reader.
bool reads_memory(const LoopNest& nest, const AccessView& access) {
  const int read = nest.find_stage(access.buffer);
  if (read == schedule::kNone) return false;
  const StageNest& stage = nest.stage(read);
  return !stage.layout && stage.scope.value_or(ir::Scope::kGlobal) == ir::Scope::kGlobal &&
         (stage.is_placeholder() || stage.attach.kind == schedule::AttachKind::kRoot);
}

double bytes_read(const LoopNest& nest, const StageView& view, const std::vector<double>& values) {
  std::map<uint64_t, double> by_buffer;
  for (const AccessView& access : view.accesses)
    if (reads_memory(nest, access))
      by_buffer[access.buffer] = std::max(by_buffer[access.buffer], bytes_read(access, values));
  double bytes = 0;
  for (const auto& [buffer, read] : by_buffer) bytes += read;
  return bytes;
}

// Bytes that come for certain into L1 and into L2, of which each core has one. While the loops from some depth inwards
// run, they read distinct bytes; of these the cache held at most what fits. A share of their iterations reads at least
// that share of the bytes.
std::array<double, 2> bytes_moved(const LoopNest& nest, const StageView& view, const Machine& machine) {
  const std::array<int64_t, 2> capacities = {machine.l1_bytes, machine.l2_bytes};
  std::array<double, 2> most = {};
  size_t outside = 0;  // loops that run as they stand: those inside a vectorized or an unrolled one may not
  const bool plain = left_plain(view);
  const auto stays = [&](const LoopView& loop) {
    return loop.extent == 1 ||
           (loop.annotation != schedule::Annotation::kVectorized &&
            loop.annotation != schedule::Annotation::kUnrolled && (!plain || runs_concurrently(loop.annotation)));
  };
  while (outside < view.loops.size() && stays(view.loops[outside])) ++outside;
  const double all = points_of(nest.stage(view.stage));
  std::vector<double> values(view.root_extents.size(), 1);
  double inside = 1, around = view.enclosing * view.trips(), caches = 1;
  for (size_t l = view.loops.size(); l-- > 0;) {
    const LoopView& loop = view.loops[l];
    const auto n = static_cast<double>(loop.extent);
    inside *= n;
    around /= n;
    if (runs_concurrently(loop.annotation)) caches = machine.threads;
    if (loop.roots.size() == 1) {  // of a fused loop nobody knows here how far it walks along each axis
      const auto root = static_cast<size_t>(loop.roots[0]);
      values[root] = std::min(values[root] * n, static_cast<double>(view.root_extents[root]));
    }
    if (l > outside) continue;
    const double read = all / inside * bytes_read(nest, view, values);
    for (size_t c = 0; c < most.size(); ++c) {
      if (capacities[c] <= 0) continue;  // the system does not say
      const double kept = around * kRoom * static_cast<double>(capacities[c]) * caches;
      most[c] = std::max(most[c], read - kept);
    }
  }
  return most;
}

}  // namespace

double lower_bound_seconds(const LoopNest& nest, const std::vector<StageView>& views, const Machine& machine) {
  const std::vector<bool> conditional = conditional_stages(nest), whole = computed_whole(nest, views, conditional);
  double arithmetic = 0, l1 = 0, l2 = 0;  // cycles; a core does all three at a time
  for (const StageView& view : views) {
    const auto at = static_cast<size_t>(view.stage);
    if (!whole[at]) continue;
    const StageNest& stage = nest.stage(view.stage);
    auto parallel = static_cast<double>(view.parallel_around);
    for (const LoopView& loop : view.loops)
      if (runs_concurrently(loop.annotation)) parallel *= static_cast<double>(loop.extent);
    const double cores = std::clamp<double>(parallel, 1, machine.threads);
    if (const double terms = certain_terms(view, stage, conditional[at]); terms > 0)
      arithmetic += terms / (terms_per_cycle(view, stage, machine) * cores);
    if (conditional[at] || view.certain < 1 ||
        !std::all_of(
            stage.bodies.begin(), stage.bodies.end(), [](const ir::Expr& body) { return body.type().is_float(); }))
      continue;  // arithmetic on integers may turn out to need no operand
    const std::array<double, 2> moved = bytes_moved(nest, view, machine);
    l1 += moved[0] / (kBytesPerCycle * cores);
    l2 += moved[1] / (kBytesPerCycle * cores);
  }
  return std::max({arithmetic, l1, l2}) / kFastestClock;
}

double lower_bound_seconds(const schedule::Schedule& s, const Machine& machine) {
  return lower_bound_seconds(s.nest(), schedule::view_stages(s.nest()), machine);
}

}  // namespace tw::autotune
