#include "autotune/model/device_prior.h"

#include <limits>

#include "schedule/device_account.h"

namespace tw::autotune {

double estimate_device_seconds(const schedule::Schedule& s, const schedule::Machine& machine) {
  const auto placed = schedule::place(s.nest(), {});
  if (!placed.ok()) return std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const schedule::LaunchAccount& launch : schedule::device_account(s.nest(), *placed, *machine.device))
    seconds += launch.total;
  return seconds;
}

}  // namespace tw::autotune
