#include "schedule/on_target.h"

#include <utility>

#include "schedule/loop_nest.h"
#include "schedule/machine.h"

namespace tw::schedule {

namespace {

int64_t blocks_of_cluster(const Schedule& schedule, const std::string& name) {
  const StageNest& stage = schedule.nest().stage(schedule.nest().find_stage(name));
  return stage.cluster.axis == kNone ? 1 : stage.axes[static_cast<size_t>(stage.cluster.axis)].extent.value_or(1);
}

}  // namespace

Schedule on_target(const Schedule& schedule, const Target& target) {
  const std::optional<DeviceRates> device = describe_machine(target, {}).device;
  std::vector<Step> steps = schedule.steps();
  bool changed = false;
  for (Step& step : steps)
    if (auto* persistent = std::get_if<Persistent>(&step.kind); device && persistent && !persistent->blocks) {
      persistent->blocks = Factor(device->processors / blocks_of_cluster(schedule, persistent->stage));
      changed = true;
    }
  return changed ? Schedule::from_steps(schedule.outputs(), steps).value_or_throw() : schedule;
}

}  // namespace tw::schedule
