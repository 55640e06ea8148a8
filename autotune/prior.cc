// The estimate, term by term, and the bound.
#include "autotune/prior.h"

#include <algorithm>
#include <cmath>

#include "schedule/nest_view.h"
#include "src/ir/walk.h"

namespace tw::autotune {

namespace {

constexpr double kHertz = 4e9;         // all estimates' clock
constexpr double kFastestClock = 6e9;  // of any CPU that is sold
constexpr double kLatency = 4;         // cycles until a sum can take its next term
constexpr double kEntry = 12;          // cycles to start a loop and to leave it: pointers, first sums, a missed branch
constexpr double kIteration = 1;       // least cycles of one iteration
constexpr double kLaunch = 4e-6;       // seconds to wake threads and to wait for the last
constexpr double kWays = 8;            // lines of one set of L1
constexpr double kCopied = 6;          // bytes that a core copies in a cycle: lines that are claimed, other orders
constexpr double kElsewhere = 1.5;     // what one core wrote, others read
constexpr double kMasked = 1.15;       // loops that read under a condition
constexpr double kWarm = 0.75;         // share of a cache that data of the run before may still fill
constexpr double kOverlap = 0.25;      // share of the lesser terms that the largest does not hide

double busy_cycles(const StageFacts& f, const Machine& machine) {
  const double arithmetic = f.arithmetic / machine.rates.issue;
  // What does not fit into registers is stored and loaded again in each iteration.
  const double excess = std::max(0.0, f.registers + 2 - machine.vector_registers);
  const double bodies = f.points / f.body;
  return (arithmetic + 2 * excess * bodies) * (f.conditional ? kMasked : 1);
}

double load_cycles(const StageFacts& f, const Machine& machine) {
  double cycles = 0;
  for (const AccessFacts& a : f.accesses) {
    if (a.store) {
      cycles += a.instructions * (f.tensorized > 0 || f.vector_extent > 0 ? 1 : 0.5);
      continue;
    }
    // A broadcast is a load of one element, of which two start in a cycle; vectors across lines are two loads.
    const double each = !a.along ? 0.5 : a.aligned ? 1 / machine.rates.l1_loads : 1.5 / machine.rates.l1_loads;
    const double misses = a.conflict > kWays && !a.hoisted ? 2 : 1;
    cycles += a.instructions * each * misses;
  }
  return cycles;
}

double copy_cycles(const StageFacts& f) {
  double bytes = 0;
  for (const AccessFacts& a : f.accesses) bytes += a.bytes;
  return bytes / kCopied * (f.root && f.parallel_extent > 1 ? kElsewhere : 1);
}

void estimate_stage(StageFacts& f, const NestFacts& nest, const Machine& machine) {
  const double second = kHertz * std::max(1.0, f.cores);  // cycles of all cores
  f.compute_seconds = busy_cycles(f, machine) / second;
  f.load_seconds = load_cycles(f, machine) / second;
  if (f.copies) f.load_seconds = std::max(f.load_seconds, copy_cycles(f) / second);
  const double bodies = f.points / f.body;
  const double sums = std::max(1.0, f.accumulators);
  f.latency_seconds = f.sums_in_a_row && f.reduces ? f.arithmetic / sums * kLatency / second : 0;
  f.overhead_seconds = (bodies * kIteration + f.entries * kEntry) / second + f.launches * kLaunch;
  const schedule::Rates& rates = machine.rates;
  const double l3 = static_cast<double>(machine.l3_bytes > 0 ? machine.l3_bytes : 4 * machine.l2_bytes);
  const double l2 = static_cast<double>(machine.l2_bytes) * std::max(1.0, f.cores);
  f.memory_seconds = {f.moved[0] / (rates.l2_bytes * second), f.moved[1] / (rates.l3_bytes * second),
                      f.moved[2] / std::min(rates.core_dram * std::max(1.0, f.cores), rates.all_dram)};
  if (nest.bytes <= kWarm * l2) f.memory_seconds[1] = 0;
  if (nest.bytes <= kWarm * l3) f.memory_seconds[2] = 0;
  const double terms[] = {std::max(f.compute_seconds, f.latency_seconds), f.load_seconds, f.memory_seconds[0],
                          f.memory_seconds[1], f.memory_seconds[2]};
  double most = 0, sum = 0;
  for (double t : terms) most = std::max(most, t), sum += t;
  f.seconds = most + kOverlap * (sum - most) + f.overhead_seconds;
}

}  // namespace

double estimate_seconds(NestFacts& facts, const Machine& machine) {
  double seconds = 0;
  for (StageFacts& stage : facts.stages) {
    estimate_stage(stage, facts, machine);
    seconds += stage.seconds;
  }
  return seconds;
}

double estimate_seconds(const schedule::Schedule& s, const Machine& machine) {
  NestFacts facts = facts_of(s, schedule::view_stages(s.nest()), machine);
  return estimate_seconds(facts, machine);
}

namespace {

using schedule::AccessView;
using schedule::LoopNest;
using schedule::LoopView;
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

// Terms that are added for certain: under a condition those of a sum in floating point, since adding 0 there is no
// identity, unless the condition is about the term itself.
double certain_terms(const StageNest& stage, bool conditional) {
  const ir::Reduce* reduce = stage.reduction();
  if (reduce == nullptr || stage.bodies.size() != 1) return 0;
  const bool sums = reduce->op == ir::ReduceOp::kSum && stage.bodies[0].type().is_float();
  if (conditional && (!sums || ir::as<ir::Binary>(reduce->sources[0]) == nullptr)) return 0;
  double terms = 1;
  for (int a = 0; a < stage.data_rank + stage.reduce_rank; ++a)
    terms *= static_cast<double>(stage.axes[static_cast<size_t>(a)].extent.value_or(1));
  return terms;
}

// Terms that one cycle of one core adds at most.
double terms_per_cycle(const StageView& view, const StageNest& stage, const Machine& machine) {
  constexpr double kPipes = 4;  // for vectors, of any CPU
  int narrowest = view.element_bytes;
  for (const AccessView& access : view.accesses) narrowest = std::min(narrowest, access.element_bytes);
  const double full = std::max(1.0, machine.vector_bits / (8.0 * std::max(1, narrowest)));
  if (stage.tensorized.axis != schedule::kNone) return kPipes * full;
  double lanes = 1;
  for (const LoopView& loop : view.loops) {
    const auto n = static_cast<double>(loop.extent);
    if (loop.annotation == schedule::Annotation::kVectorized) lanes = n / std::ceil(n / full);
  }
  const bool measured = machine.rates.source != schedule::Rates{}.source;
  if (!measured || view.fused == 0) return kPipes * lanes;
  return std::min(2.0, machine.rates.issue * full / lanes) * lanes;
}

}  // namespace

double lower_bound_seconds(const LoopNest& nest, const std::vector<StageView>& views, const Machine& machine) {
  const std::vector<bool> conditional = conditional_stages(nest), whole = computed_whole(nest, views, conditional);
  double seconds = 0;
  for (const StageView& view : views) {
    const StageNest& stage = nest.stage(view.stage);
    const double terms = certain_terms(stage, conditional[static_cast<size_t>(view.stage)]);
    if (terms == 0 || !whole[static_cast<size_t>(view.stage)]) continue;
    auto parallel = static_cast<double>(view.parallel_around);
    for (const LoopView& loop : view.loops)
      if (loop.annotation == schedule::Annotation::kParallel) parallel *= static_cast<double>(loop.extent);
    const double cores = std::clamp<double>(parallel, 1, machine.threads);
    seconds += terms / (terms_per_cycle(view, stage, machine) * kFastestClock * cores);
  }
  return seconds;
}

double lower_bound_seconds(const schedule::Schedule& s, const Machine& machine) {
  return lower_bound_seconds(s.nest(), schedule::view_stages(s.nest()), machine);
}

}  // namespace tw::autotune
