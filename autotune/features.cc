// Features of a loop nest and of knobs.
#include "autotune/features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/traffic.h"

namespace tw::autotune {

using LoopKind = schedule::Annotation;
using schedule::AccessView;
using schedule::LoopView;
using schedule::StageView;
using schedule::view_stages;

namespace {

// The block of one stage, in the order of kStageNames.
struct StageFeatures {
  double trips, enclosing, operations, waste;
  double vector_extent, vector_utilisation;
  double accumulators, register_pressure, spills, loads_per_operation, unrolled;
  double inner_extent, inner_is_reduction, inner_reduction_extent;
  double parallel_extent, parallel_balance, grain;
  double invariant_accesses, contiguous_accesses, strided_accesses;
  double l1_traffic, l2_traffic, l3_traffic;
  double inner_footprint, reduction_footprint, intensity;
  double compute_seconds, memory_seconds, seconds;
  double attached;
};
constexpr const char* kStageNames[] = {"trips",
                                       "enclosing",
                                       "operations",
                                       "waste",
                                       "vector_extent",
                                       "vector_utilisation",
                                       "accumulators",
                                       "register_pressure",
                                       "spills",
                                       "loads_per_operation",
                                       "unrolled",
                                       "inner_extent",
                                       "inner_is_reduction",
                                       "inner_reduction_extent",
                                       "parallel_extent",
                                       "parallel_balance",
                                       "grain",
                                       "invariant_accesses",
                                       "contiguous_accesses",
                                       "strided_accesses",
                                       "l1_traffic",
                                       "l2_traffic",
                                       "l3_traffic",
                                       "inner_footprint",
                                       "reduction_footprint",
                                       "intensity",
                                       "compute_seconds",
                                       "memory_seconds",
                                       "seconds",
                                       "attached"};
constexpr size_t kStageWidth = std::size(kStageNames);
static_assert(sizeof(StageFeatures) == kStageWidth * sizeof(double));

constexpr const char* kProgramNames[] = {"stages",        "root_stages",   "total_operations",
                                         "total_seconds", "scratch_bytes", "steps"};
constexpr size_t kBlocks = 2;
constexpr double kHertz = 4e9;  // not the machine's: what the system says varies, and with it would the tuner's choices

double log2p(double x) { return std::log2(1 + std::max(x, 0.0)); }

void describe_vectors(const StageView& view, const Machine& machine, StageFeatures& f) {
  const int lanes = std::max(1, machine.vector_bits / (8 * view.element_bytes));
  const LoopView* vector = nullptr;
  double tile = 1;
  std::vector<int64_t> tile_ranges(view.root_extents.size(), 1);
  for (const LoopView& loop : view.loops) {
    if (loop.annotation == LoopKind::kVectorized) vector = &loop;
    const bool replicated = loop.annotation == LoopKind::kVectorized || loop.annotation == LoopKind::kUnrolled;
    if (replicated && !loop.reduction) tile *= static_cast<double>(loop.extent);
    if (replicated && !loop.reduction) {
      for (int root : loop.roots) tile_ranges[static_cast<size_t>(root)] += loop.extent - 1;
    }
    if (loop.annotation == LoopKind::kUnrolled) f.unrolled *= static_cast<double>(loop.extent);
  }
  const double n = vector ? static_cast<double>(vector->extent) : 1;
  f.vector_extent = vector ? n : 0;
  f.vector_utilisation = n / (std::ceil(n / lanes) * lanes);
  const double vectors = std::max(1.0, tile / std::min<double>(lanes, n));
  double operands = 0;
  for (const AccessView& access : view.accesses) {
    const bool along = vector && touches(access, *vector);
    if (!access.store)
      operands += footprint(access, tile_ranges) / access.element_bytes / (along ? std::min<double>(lanes, n) : 1);
    const int64_t stride = !vector || access.coefficients.empty() || vector->roots.size() != 1
                               ? 0
                               : access.coefficients.back()[static_cast<size_t>(vector->roots[0])];
    (!along ? f.invariant_accesses : stride == 1 ? f.contiguous_accesses : f.strided_accesses) += 1;
  }
  f.accumulators = vectors;
  f.register_pressure = (vectors + 2) / machine.vector_registers;
  f.spills = f.register_pressure > 1;
  f.loads_per_operation = operands / std::max(1.0, vectors * view.operations);
}

void describe_order(const StageView& view, StageFeatures& f) {
  f.inner_reduction_extent = 1;
  const LoopView* inner = nullptr;
  for (const LoopView& loop : view.loops) {
    if (loop.annotation == LoopKind::kVectorized || loop.annotation == LoopKind::kUnrolled || loop.extent == 1)
      continue;
    inner = &loop;
    if (loop.reduction) f.inner_reduction_extent = static_cast<double>(loop.extent);
  }
  f.inner_extent = inner ? static_cast<double>(inner->extent) : 1;
  f.inner_is_reduction = inner != nullptr && inner->reduction;
}

void describe_parallelism(const StageView& view, const Machine& machine, StageFeatures& f) {
  double extent = static_cast<double>(view.parallel_around);
  for (const LoopView& loop : view.loops) {
    if (loop.annotation == LoopKind::kParallel) extent *= static_cast<double>(loop.extent);
  }
  f.parallel_extent = extent;
  f.parallel_balance = extent / (std::ceil(extent / machine.threads) * machine.threads);
  f.grain = f.operations / extent;
}

void describe_memory(const StageView& view, const Machine& machine, StageFeatures& f) {
  f.l1_traffic = traffic(view, static_cast<double>(machine.l1_bytes));
  f.l2_traffic = traffic(view, static_cast<double>(machine.l2_bytes));
  f.l3_traffic = traffic(view, static_cast<double>(machine.l3_bytes > 0 ? machine.l3_bytes : 4 * machine.l2_bytes));
  size_t serial = view.loops.size(), reduction = view.loops.size();
  for (size_t l = 0; l < view.loops.size(); ++l) {
    if (view.loops[l].annotation == LoopKind::kNone && view.loops[l].extent > 1) serial = l;
    if (view.loops[l].reduction && view.loops[l].extent > 1 && reduction == view.loops.size()) reduction = l;
  }
  const std::vector<int64_t> in_serial = view.ranges(serial), in_reduction = view.ranges(reduction);
  for (const AccessView& access : view.accesses) {
    f.inner_footprint += footprint(access, in_serial);
    f.reduction_footprint += footprint(access, in_reduction);
  }
  f.intensity = f.operations / std::max(1.0, f.l2_traffic);
}

void estimate_seconds(const StageView& view, const Machine& machine, StageFeatures& f) {
  const double lanes = std::max(1.0, machine.vector_bits / (8.0 * view.element_bytes));
  const double width = f.vector_extent > 0 ? std::min(lanes, f.vector_extent) * f.vector_utilisation : 1;
  const double cores = machine.threads * f.parallel_balance;
  const double chains = std::min(1.0, f.accumulators / 8);  // latency of one accumulator is not hidden
  const double spill = std::max(1.0, f.register_pressure);
  f.compute_seconds = f.operations / (kHertz * 2 * width * chains / spill * cores);
  const schedule::Rates& rates = machine.rates;
  f.memory_seconds =
      std::max({f.l1_traffic / (kHertz * rates.l2_bytes * cores), f.l2_traffic / (kHertz * rates.l3_bytes * cores),
                f.l3_traffic / std::min(rates.core_dram * cores, rates.all_dram)});
  f.seconds = std::max(f.compute_seconds, f.memory_seconds) + 0.3 * std::min(f.compute_seconds, f.memory_seconds);
}

StageFeatures describe_stage(const StageView& view, const Machine& machine) {
  StageFeatures f{};
  f.trips = view.trips();
  f.enclosing = view.enclosing;
  f.operations = f.trips * view.enclosing * std::max(1.0, view.operations);
  f.waste = view.waste;
  f.unrolled = 1;
  f.attached = view.enclosing > 1;
  describe_vectors(view, machine, f);
  describe_order(view, f);
  describe_parallelism(view, machine, f);
  describe_memory(view, machine, f);
  estimate_seconds(view, machine, f);
  return f;
}

// Counts and bytes become logarithms; the rest stays.
void append(const StageFeatures& f, std::vector<float>& out) {
  for (double x : {log2p(f.trips),
                   log2p(f.enclosing),
                   log2p(f.operations),
                   f.waste,
                   log2p(f.vector_extent),
                   f.vector_utilisation,
                   log2p(f.accumulators),
                   f.register_pressure,
                   f.spills,
                   f.loads_per_operation,
                   log2p(f.unrolled),
                   log2p(f.inner_extent),
                   f.inner_is_reduction,
                   log2p(f.inner_reduction_extent),
                   log2p(f.parallel_extent),
                   f.parallel_balance,
                   log2p(f.grain),
                   f.invariant_accesses,
                   f.contiguous_accesses,
                   f.strided_accesses,
                   log2p(f.l1_traffic),
                   log2p(f.l2_traffic),
                   log2p(f.l3_traffic),
                   log2p(f.inner_footprint),
                   log2p(f.reduction_footprint),
                   log2p(f.intensity),
                   log2p(f.compute_seconds * 1e9),
                   log2p(f.memory_seconds * 1e9),
                   log2p(f.seconds * 1e9),
                   f.attached}) {
    out.push_back(static_cast<float>(x));
  }
}

}  // namespace

const std::vector<std::string>& nest_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(std::begin(kProgramNames), std::end(kProgramNames));
    for (size_t block = 0; block < kBlocks; ++block) {
      for (const char* name : kStageNames) all.push_back("stage" + std::to_string(block) + "." + name);
    }
    return all;
  }();
  return names;
}

std::vector<float> nest_features(const schedule::Schedule& s, const Machine& machine) {
  const schedule::LoopNest& nest = s.nest();
  const std::vector<StageView> views = view_stages(nest);
  std::vector<StageFeatures> stages;
  double root_stages = 0, operations = 0, seconds = 0, scratch = 0;
  for (const StageView& view : views) {
    const StageFeatures& f = stages.emplace_back(describe_stage(view, machine));
    operations += f.operations;
    seconds += f.seconds;
    root_stages += view.enclosing <= 1;
    if (nest.stage(view.stage).output) continue;
    double bytes = view.element_bytes;
    for (int d = 0; d < nest.stage(view.stage).data_rank; ++d)
      bytes *= static_cast<double>(view.root_extents[static_cast<size_t>(d)]);
    scratch += bytes;
  }
  std::vector<float> out;
  for (double x : {static_cast<double>(views.size()), root_stages, log2p(operations), log2p(seconds * 1e9),
                   log2p(scratch), static_cast<double>(s.steps().size())}) {
    out.push_back(static_cast<float>(x));
  }
  std::stable_sort(stages.begin(), stages.end(),
                   [](const auto& a, const auto& b) { return a.operations > b.operations; });
  for (size_t block = 0; block < kBlocks; ++block) append(block < stages.size() ? stages[block] : StageFeatures{}, out);
  return out;
}

void append_knob_features(const Space& space, uint64_t index, std::vector<float>& out) {
  const Digits digits = space.digits(index);
  for (size_t k = 0; k < digits.size(); ++k) {
    const Knob& knob = space.knobs()[k];
    const KnobValue& value = knob.values[digits[k]];
    if (knob.kind == KnobKind::kValue) {
      out.push_back(static_cast<float>(value.text.empty() ? static_cast<double>(value.numbers[0]) : digits[k]));
      continue;
    }
    if (knob.kind == KnobKind::kSplit) {
      double product = 1;
      for (int64_t n : value.numbers) {
        product *= static_cast<double>(n);
        out.push_back(static_cast<float>(log2p(static_cast<double>(n))));
      }
      out.push_back(static_cast<float>(product));
      out.push_back(static_cast<float>(value.tail));
      continue;
    }
    for (int64_t n : value.numbers) out.push_back(static_cast<float>(n));
  }
}

double arithmetic_of(const std::vector<te::Tensor>& outputs) {
  double total = 0;
  for (const StageView& view : view_stages(schedule::Schedule(outputs).nest())) total += view.trips() * view.operations;
  return total;
}

}  // namespace tw::autotune
