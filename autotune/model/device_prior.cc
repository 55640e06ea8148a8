#include "autotune/model/device_prior.h"

#include <algorithm>
#include <limits>

#include "schedule/device_account.h"

namespace tw::autotune {

double estimate_device_seconds(const schedule::Schedule& s, const schedule::Machine& machine) {
  const auto placed = schedule::place(s.nest(), {});
  if (!placed.ok()) return kNever;
  double seconds = 0;
  for (const schedule::LaunchAccount& launch : schedule::device_account(s.nest(), *placed, *machine.device))
    seconds += launch.total;
  return std::min(seconds, kNever);
}

int device_shortfalls(const schedule::Schedule& s, const schedule::Machine& machine) {
  constexpr double kEnoughWaves = 2, kMostConflicts = 1.02;
  const auto placed = schedule::place(s.nest(), {});
  if (!placed.ok()) return std::numeric_limits<int>::max();
  const auto launches = schedule::device_account(s.nest(), *placed, *machine.device);
  if (launches.empty()) return 0;
  const auto& longest = *std::ranges::max_element(launches, {}, &schedule::LaunchAccount::total);
  double wavefronts = 0, least = 0;
  for (const schedule::LaunchAccount& launch : launches)
    for (const schedule::StageAccount& stage : launch.stages) wavefronts += stage.wavefronts, least += stage.least;
  const bool idle = longest.waves < kEnoughWaves && longest.blocks < machine.device->processors;
  return (idle ? 1 : 0) + (wavefronts > kMostConflicts * least ? 1 : 0);
}

}  // namespace tw::autotune
