#include "autotune/log/range_winner.h"

#include <algorithm>
#include <limits>
#include <map>

#include "autotune/log/winner.h"

namespace tw::autotune {

namespace {

constexpr double kHardly = 0.05;  // what a measurement may be wrong by

// The last record of each size, as all are timed in turns.
using BySize = std::map<int64_t, const Record*>;

double worst_loss(const BySize& times, const std::map<int64_t, double>& fastest) {
  double worst = 1;
  for (const auto& [size, least] : fastest) {
    const auto at = times.find(size);
    if (at == times.end() || !at->second->trial.ok()) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, at->second->trial.seconds / least);
  }
  return worst;
}

}  // namespace

const Record* best_in_range(const std::vector<const Record*>& records, const Record* own) {
  std::map<std::string, BySize> timed;
  std::map<int64_t, double> fastest;
  for (const Record* r : records)
    if (r->kind == "range") timed[configuration_of(r->trial)][r->at] = r;
  for (const auto& [steps, times] : timed)
    for (const auto& [size, r] : times)
      if (r->trial.ok()) {
        const auto least = fastest.try_emplace(size, r->trial.seconds).first;
        least->second = std::min(least->second, r->trial.seconds);
      }
  const auto of_own = own ? timed.find(configuration_of(own->trial)) : timed.end();
  if (fastest.empty() || (own && of_own == timed.end())) return own;
  const Record* best = own;
  double least = own ? worst_loss(of_own->second, fastest) - kHardly : std::numeric_limits<double>::infinity();
  for (const auto& [steps, times] : timed)
    if (const double worst = worst_loss(times, fastest); worst < least) {
      least = worst;
      best = times.rbegin()->second;
    }
  return best;
}

}  // namespace tw::autotune
