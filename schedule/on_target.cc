#include "schedule/on_target.h"

#include <utility>

#include "schedule/machine.h"

namespace tw::schedule {

Schedule on_target(const Schedule& schedule, const Target& target) {
  const std::optional<DeviceRates> device = describe_machine(target, {}).device;
  std::vector<Step> steps = schedule.steps();
  bool changed = false;
  for (Step& step : steps)
    if (auto* persistent = std::get_if<Persistent>(&step.kind); device && persistent && !persistent->blocks) {
      persistent->blocks = Factor(device->processors);
      changed = true;
    }
  return changed ? Schedule::from_steps(schedule.outputs(), steps).value_or_throw() : schedule;
}

}  // namespace tw::schedule
