#include "src/runtime/rounds.h"

#include <algorithm>
#include <cmath>

namespace tw::runtime {
namespace {

constexpr size_t kFewestRounds = 2, kMostRounds = 4;
constexpr double kLong = 5e-3;       // seconds of a run that averages over what disturbs it: the fewest rounds do
constexpr double kMayHaveWon = 1.1;  // times the best

double best_of(std::span<const LeaderTimes> leaders) {
  double best = 0;
  for (const LeaderTimes& leader : leaders)
    if (const double here = leader.typical(); here > 0 && (best == 0 || here < best)) best = here;
  return best;
}

}  // namespace

double give_up_above(double best_before, double first_of_batch) {
  for (const double known : {best_before, first_of_batch})
    if (known > 0 && std::isfinite(known)) return 2 * known;
  return 0;
}

double LeaderTimes::typical() const {
  if (failed || again.empty()) return 0;
  std::vector<double> sorted = again;
  if (first > 0) sorted.push_back(first);
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min<size_t>(1, sorted.size() - 1)];
}

std::vector<size_t> next_round(std::span<const LeaderTimes> leaders) {
  const double best = best_of(leaders);
  const size_t most = !leaders.empty() && leaders.front().first > kLong ? kFewestRounds : kMostRounds;
  const auto may_have_won = [&](const LeaderTimes& l) { return l.typical() > 0 && l.typical() <= kMayHaveWon * best; };
  const auto contends = [&](const LeaderTimes& l) {
    return !l.failed && l.rounds < most && (l.rounds < kFewestRounds || may_have_won(l));
  };
  size_t contenders = 0, fewest = most;
  for (const LeaderTimes& leader : leaders) {
    contenders += leader.typical() == 0 || may_have_won(leader);
    if (contends(leader)) fewest = std::min(fewest, leader.rounds);
  }
  std::vector<size_t> round;
  if (fewest >= kFewestRounds && contenders < 2) return round;
  for (size_t i = 0; i < leaders.size(); ++i)
    if (contends(leaders[i]) && leaders[i].rounds == fewest) round.push_back(i);
  return round;
}

}  // namespace tw::runtime
