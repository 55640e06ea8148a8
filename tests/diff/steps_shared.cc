// Proposals for what the threads of a block share: how it lies there, and how far ahead of its use it is computed.
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

bool is_shared(const Stepper& s, const std::string& name) {
  return s.attached.contains(name) && s.stage(name).scope == ir::Scope::kShared;
}

}  // namespace

// The loop may be a device's own, or what is computed in it may need what else is. What cp.async refuses is known when
// loops are made only; auto takes it wherever it can. Of boxes the whole nest is judged at once.
void pipeline(Stepper& s, const std::string& name) {
  if (!is_shared(s, name)) return;
  const auto& [host, position] = s.attached.at(name);
  const StageNest& around = s.stage(host);
  if (position >= static_cast<int>(around.leaves.size())) return;
  const char* ways[] = {"auto", "auto", "ldg", "tma"};
  const char* by = ways[s.random().below(4)];
  const Axis& loop = around.axes[around.leaves[position]];
  if (loop.annotation != Annotation::kNone) return;
  if (s.may(schedule::Pipeline{host, loop.name, 1 + s.random().below(4), by}))
    s.count(std::string("pipeline by ") + by);
}

void swizzle(Stepper& s, const std::string& name) {
  if (!is_shared(s, name)) return;
  const char* widths[] = {"auto", "none", "32", "64", "128"};
  s.may(schedule::Swizzle{name, widths[s.random().below(5)]});
}

// Of the stage that reads what is copied ahead. Whether the device copies it is known when loops are made.
void roles(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.pipelines.empty() || stage.tensorized.axis == schedule::kNone) return;
  schedule::Roles step;
  step.stage = name;
  s.may(step);
}

// Of a few blocks that the device copies for: whether they read something in common is known when loops are made.
void cluster(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.pipelines.empty() || stage.tensorized.axis == schedule::kNone) return;
  std::vector<std::string> loops;  // a Step makes another nest
  for (const AxisId leaf : stage.leaves) {
    const Axis& axis = stage.axes[leaf];
    if (is_block(axis.annotation) && axis.extent.value_or(1) > 1 && s.random().chance(60)) loops.push_back(axis.name);
  }
  for (const std::string& loop : loops) s.may(schedule::Cluster{name, loop});
}

}  // namespace tw::diff
