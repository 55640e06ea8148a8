#include "tests/diff/automatic.h"

#include <algorithm>

#include "autotune/sketch/sketch.h"
#include "tensorwright/autotune.h"
#include "tests/diff/random.h"
#include "tests/unit/device.h"

namespace tw::diff {

namespace {

constexpr int kShare = 25;      // percent of the pairs,
constexpr int kOnDevices = 55;  // and of these at least so many for a device, whose rules are many
constexpr int kAttempts = 16;   // at a candidate that is legal on the whole nest

bool has_known_extents(const Sample& sample) {
  for (const te::Operation& op : te::topological_order(sample.outputs)) {
    std::vector<ir::Expr> extents = op->shape();
    if (op->compute())
      for (const te::IterVar& axis : op->compute()->reduce_axis) extents.push_back(axis.extent);
    for (const ir::Expr& extent : extents)
      if (!ir::as_int(extent)) return false;
  }
  return true;
}

// The tuner measures calls without scalars: what takes some has no task.
bool has_task(const Sample& sample) { return sample.scalars.empty() && has_known_extents(sample); }

// The host runs what has C functions, or nothing that a thread could be bound to.
bool suits_device(const Sample& sample) {
  return std::ranges::all_of(te::topological_order(sample.outputs), [](const te::Operation& op) {
    if (op->is_placeholder() || op->scan()) return true;
    const te::Compute* c = op->compute();
    if (!c || (c->axis.empty() && c->reduce_axis.empty())) return false;
    const auto some = [](const te::IterVar& axis) { return !ir::is_int(axis.extent, 0); };
    return std::ranges::all_of(c->axis, some) && std::ranges::all_of(c->reduce_axis, some);
  });
}

void take_candidate(Random& random, Sample& sample, const Target& target) {
  const autotune::Task task(sample.args, target);
  std::string refusal;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto index = static_cast<uint64_t>(random.below(static_cast<int64_t>(task.space().size())));
    const Result<autotune::Scheduled> candidate = task.candidate(index);
    ++sample.proposed;
    if (candidate) {
      sample.steps = task.steps(index).value_or_throw();
      const autotune::sketch::Graph graph = autotune::sketch::analyse(task.outputs(), task.target());
      for (const autotune::sketch::Claim& claim : autotune::sketch::partition(graph, task.target()))
        sample.features.insert("automatic " + std::string(claim.rule->name));
      if (target.abilities.device) sample.features.insert("launch");
      return;
    }
    ++sample.refused;
    refusal = candidate.error().render();
  }
  sample.refusals.push_back("a candidate of an automatic space: " + refusal);
}

}  // namespace

Sample draw_pair(uint64_t seed, int devices) {
  Random random(seed ^ 0xA07);
  if (!random.chance(kShare)) return draw(seed, devices);
  Sample sample = draw_expression({seed, 0, {}, {}, devices});
  if (!has_task(sample)) return draw(seed, devices);
  try {
    take_candidate(random, sample,
                   random.chance(devices > 0 ? std::max(devices, kOnDevices) : 0) && suits_device(sample)
                       ? test::device()
                       : Target::host());
  } catch (const Error& e) {
    sample.refusals.push_back("an automatic space: " + std::string(e.what()));
  }
  return sample;
}

std::vector<std::string> automatic_features() {
  std::vector<std::string> names;
  for (const Target& target : {Target::parse("llvm").value_or_throw(), test::device()})
    for (const std::string& rule : autotune::sketch::rule_names(target))
      if (rule != "strips" && rule != "split_sum" && rule != "few_rows" && rule != "pixels" && rule != "short_runs" &&
          rule != "device_rows" && rule != "device_columns" &&
          rule != "device_transposed")  // which want longer loops than most samples have
        names.push_back("automatic " + rule);
  return names;
}

}  // namespace tw::diff
