// Features of a nest: one table of names and formulas for the program, one for a stage.
#include "autotune/model/features.h"

#include <algorithm>
#include <cmath>

#include "autotune/model/bound.h"
#include "autotune/model/device_prior.h"
#include "autotune/model/prior.h"
#include "schedule/nest_view.h"

namespace tw::autotune {

namespace {

constexpr size_t kBlocks = 3, kOperands = 3;

double log2p(double x) { return std::log2(1 + std::max(x, 0.0)); }
double ratio(double a, double b) { return std::log2((a + 1e-12) / (b + 1e-12)); }
double share(double a, double b) { return b > 0 ? a / b : 0; }

// What a stage's numbers are compared with.
struct Context {
  const NestFacts& nest;
  const Machine& machine;
  double seconds = 0, operations = 0;
};

struct StageFeature {
  const char* name;
  double (*of)(const StageFacts&, const Context&);
};

const StageFeature kStage[] = {
    {"operations", [](const StageFacts& f, const Context&) { return log2p(f.operations); }},
    {"share_of_operations", [](const StageFacts& f, const Context& c) { return share(f.operations, c.operations); }},
    {"share_of_seconds", [](const StageFacts& f, const Context& c) { return share(f.seconds, c.seconds); }},
    {"reduces", [](const StageFacts& f, const Context&) { return f.reduces ? 1.0 : 0.0; }},
    {"copies", [](const StageFacts& f, const Context&) { return f.copies ? 1.0 : 0.0; }},
    {"conditional", [](const StageFacts& f, const Context&) { return f.conditional ? 1.0 : 0.0; }},
    {"attached", [](const StageFacts& f, const Context&) { return !f.root ? 1.0 : 0.0; }},
    {"output", [](const StageFacts& f, const Context&) { return f.output ? 1.0 : 0.0; }},
    {"enclosing", [](const StageFacts& f, const Context&) { return log2p(f.enclosing); }},
    {"waste", [](const StageFacts& f, const Context&) { return f.waste; }},
    // vectors and registers
    {"vectors", [](const StageFacts& f, const Context&) { return f.vector_extent / f.lanes; }},
    {"utilisation", [](const StageFacts& f, const Context&) { return f.utilisation; }},
    {"tensorized", [](const StageFacts& f, const Context&) { return log2p(f.tensorized); }},
    {"accumulators", [](const StageFacts& f, const Context&) { return f.accumulators; }},
    {"joins", [](const StageFacts& f, const Context&) { return share(f.joins, f.arithmetic); }},
    {"registers",
     [](const StageFacts& f, const Context& c) { return (f.registers + f.waiting) / c.machine.vector_registers; }},
    {"body", [](const StageFacts& f, const Context&) { return log2p(f.body); }},
    {"loads_per_arithmetic", [](const StageFacts& f, const Context&) { return share(f.loads, f.arithmetic); }},
    {"stores_per_arithmetic", [](const StageFacts& f, const Context&) { return share(f.stores, f.arithmetic); }},
    {"arithmetic_per_operation",
     [](const StageFacts& f, const Context&) { return ratio(f.arithmetic * f.lanes, f.operations); }},
    // loops
    {"inner_extent", [](const StageFacts& f, const Context&) { return log2p(f.inner_extent); }},
    {"inner_reduction", [](const StageFacts& f, const Context&) { return log2p(f.inner_reduction); }},
    {"outer_reduction", [](const StageFacts& f, const Context&) { return log2p(f.outer_reduction); }},
    {"sums_in_a_row", [](const StageFacts& f, const Context&) { return f.sums_in_a_row ? 1.0 : 0.0; }},
    {"operations_per_entry", [](const StageFacts& f, const Context&) { return ratio(f.operations, f.entries); }},
    // threads
    {"parallel_extent", [](const StageFacts& f, const Context&) { return log2p(f.parallel_extent); }},
    {"balance", [](const StageFacts& f, const Context& c) { return f.cores / c.machine.threads; }},
    {"grain", [](const StageFacts& f, const Context&) { return log2p(f.operations / f.parallel_extent); }},
    {"launches", [](const StageFacts& f, const Context&) { return log2p(f.launches); }},
    // memory
    {"conflict", [](const StageFacts& f, const Context&) { return log2p(f.conflict); }},
    {"pages", [](const StageFacts& f, const Context&) { return log2p(f.pages); }},
    {"inner_bytes", [](const StageFacts& f,
                       const Context& c) { return ratio(f.inner_bytes, static_cast<double>(c.machine.l1_bytes)); }},
    {"reduction_in_l1",
     [](const StageFacts& f, const Context& c) {
       return ratio(f.reduction_bytes, static_cast<double>(c.machine.l1_bytes));
     }},
    {"task_in_l2", [](const StageFacts& f,
                      const Context& c) { return ratio(f.task_bytes, static_cast<double>(c.machine.l2_bytes)); }},
    {"bytes", [](const StageFacts& f, const Context&) { return log2p(f.bytes); }},
    {"operations_per_l1_byte", [](const StageFacts& f, const Context&) { return ratio(f.operations, f.moved[0]); }},
    {"operations_per_l2_byte", [](const StageFacts& f, const Context&) { return ratio(f.operations, f.moved[1]); }},
    {"operations_per_l3_byte", [](const StageFacts& f, const Context&) { return ratio(f.operations, f.moved[2]); }},
    // terms of the estimate, against its sum
    {"compute", [](const StageFacts& f, const Context& c) { return ratio(f.compute_seconds, c.seconds); }},
    {"latency", [](const StageFacts& f, const Context& c) { return ratio(f.latency_seconds, c.seconds); }},
    {"load", [](const StageFacts& f, const Context& c) { return ratio(f.load_seconds, c.seconds); }},
    {"overhead", [](const StageFacts& f, const Context& c) { return ratio(f.overhead_seconds, c.seconds); }},
    {"memory_l1", [](const StageFacts& f, const Context& c) { return ratio(f.memory_seconds[0], c.seconds); }},
    {"memory_l2", [](const StageFacts& f, const Context& c) { return ratio(f.memory_seconds[1], c.seconds); }},
    {"memory_l3", [](const StageFacts& f, const Context& c) { return ratio(f.memory_seconds[2], c.seconds); }},
};

struct OperandFeature {
  const char* name;
  double (*of)(const AccessFacts&, const StageFacts&);
};

const OperandFeature kOperand[] = {
    {"loads", [](const AccessFacts& a, const StageFacts& f) { return share(a.instructions, f.arithmetic); }},
    {"kind", [](const AccessFacts& a, const StageFacts&) { return a.along ? a.contiguous ? 2.0 : 1.0 : 0.0; }},
    {"aligned", [](const AccessFacts& a, const StageFacts&) { return a.aligned ? 1.0 : 0.0; }},
    {"conflict", [](const AccessFacts& a, const StageFacts&) { return log2p(a.conflict); }},
    {"bytes", [](const AccessFacts& a, const StageFacts&) { return log2p(a.bytes); }},
    {"reuse", [](const AccessFacts& a, const StageFacts&) { return log2p(a.reuse); }},
    {"distance", [](const AccessFacts& a, const StageFacts&) { return log2p(a.distance); }},
};

struct ProgramFeature {
  const char* name;
  double (*of)(const Context&);
};

double count_if(const NestFacts& nest, bool (*is)(const StageFacts&)) {
  return static_cast<double>(std::count_if(nest.stages.begin(), nest.stages.end(), is));
}

double copy_seconds(const NestFacts& nest) {
  double seconds = 0;
  for (const StageFacts& f : nest.stages) seconds += f.copies ? f.seconds : 0;
  return seconds;
}

double ideal_seconds(const Context& c) {
  const double lanes = c.nest.stages.empty() ? 1 : c.nest.stages.front().lanes;
  return c.operations / (lanes * c.machine.rates.issue * c.machine.threads * 4e9);
}

const ProgramFeature kProgram[] = {
    {"stages", [](const Context& c) { return static_cast<double>(c.nest.stages.size()); }},
    {"root_stages", [](const Context& c) { return count_if(c.nest, [](const StageFacts& f) { return f.root; }); }},
    {"copies", [](const Context& c) { return count_if(c.nest, [](const StageFacts& f) { return f.copies; }); }},
    {"copy_share", [](const Context& c) { return share(copy_seconds(c.nest), c.seconds); }},
    {"operations", [](const Context& c) { return log2p(c.operations); }},
    {"bytes", [](const Context& c) { return log2p(c.nest.bytes); }},
    {"scratch", [](const Context& c) { return log2p(c.nest.scratch_bytes); }},
    {"operations_per_byte", [](const Context& c) { return ratio(c.operations, c.nest.bytes); }},
    {"seconds", [](const Context& c) { return std::log2(c.seconds * 1e9 + 1); }},
    {"efficiency", [](const Context& c) { return ratio(ideal_seconds(c), c.seconds); }},
    {"threads", [](const Context& c) { return static_cast<double>(c.machine.threads); }},
};

void append_stage(const StageFacts& f, const Context& context, std::vector<float>& out) {
  for (const StageFeature& feature : kStage) out.push_back(static_cast<float>(feature.of(f, context)));
  size_t operand = 0;
  for (const AccessFacts& a : f.accesses) {
    if (a.store || operand == kOperands) break;
    for (const OperandFeature& feature : kOperand) out.push_back(static_cast<float>(feature.of(a, f)));
    ++operand;
  }
  out.resize(out.size() + (kOperands - operand) * std::size(kOperand), -1);
}

constexpr size_t kBlockWidth = std::size(kStage) + kOperands * std::size(kOperand);

std::vector<float> features_of(const NestFacts& nest, double seconds, const Machine& machine) {
  Context context{nest, machine, seconds};
  std::vector<const StageFacts*> dearest;
  for (const StageFacts& f : nest.stages) {
    context.operations += f.operations;
    dearest.push_back(&f);
  }
  std::stable_sort(dearest.begin(), dearest.end(), [](const auto* a, const auto* b) {
    return a->operations * (a->reduces ? 4 : 1) > b->operations * (b->reduces ? 4 : 1);
  });
  std::vector<float> out;
  out.reserve(std::size(kProgram) + kBlocks * kBlockWidth);
  for (const ProgramFeature& feature : kProgram) out.push_back(static_cast<float>(feature.of(context)));
  for (size_t block = 0; block < kBlocks; ++block) {
    if (block < dearest.size())
      append_stage(*dearest[block], context, out);
    else
      out.resize(out.size() + kBlockWidth, -1);
  }
  return out;
}

}  // namespace

const std::vector<std::string>& nest_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ProgramFeature& feature : kProgram) all.emplace_back(feature.name);
    for (size_t block = 0; block < kBlocks; ++block) {
      const std::string stage = "stage" + std::to_string(block) + ".";
      for (const StageFeature& feature : kStage) all.push_back(stage + feature.name);
      for (size_t operand = 0; operand < kOperands; ++operand)
        for (const OperandFeature& feature : kOperand)
          all.push_back(stage + "operand" + std::to_string(operand) + "." + feature.name);
    }
    return all;
  }();
  return names;
}

float prior_of_features(const std::vector<float>& features) {
  static const auto at = static_cast<size_t>(
      std::find(nest_feature_names().begin(), nest_feature_names().end(), "seconds") - nest_feature_names().begin());
  return -features[at];
}

Description description_of(const schedule::Schedule& s, const Machine& machine) {
  const std::vector<schedule::StageView> views = schedule::view_stages(s.nest());
  NestFacts nest = facts_of(s, views, machine);
  Description d;
  d.estimate = machine.device ? estimate_device_seconds(s, machine) : estimate_seconds(nest, machine);
  d.features = features_of(nest, d.estimate, machine);
  d.bound = machine.device ? 0 : lower_bound_seconds(s.nest(), views, machine);
  d.hash = nest.hash;
  return d;
}

std::vector<float> nest_features(const schedule::Schedule& s, const Machine& machine) {
  return description_of(s, machine).features;
}

double arithmetic_of(const std::vector<te::Tensor>& outputs) {
  double total = 0;
  for (const schedule::StageView& view : schedule::view_stages(schedule::Schedule(outputs).nest()))
    total += view.trips() * (view.operations - view.casts);
  return total;
}

}  // namespace tw::autotune
