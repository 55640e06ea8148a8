#include "autotune/watched.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace tw::autotune {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// "4 boards, pi4-2 throttled" -> "4 boards, 31 trials/s, pi4-2 throttled"
std::string with_rate(const std::string& boards, double rate) {
  if (boards.empty()) return boards;
  std::ostringstream text;
  text << ", " << std::fixed << std::setprecision(rate < 10 ? 1 : 0) << rate << " trials/s";
  return std::string(boards).insert(std::min(boards.find(','), boards.size()), text.str());
}

}  // namespace

void Watched::begin() { start_ = now(); }
double Watched::elapsed_s() const { return now() - start_; }

void Watched::show(const Trial& current, const TuneResult& so_far, const std::vector<Trial>& arrived,
                   const MachineDescription& where, const std::string& boards) {
  if (!options_.on_trial) return;
  double best = INFINITY;
  std::map<std::string, int> failed;
  int failures = 0;
  const auto look = [&](const Trial& t) {
    if (t.ok()) best = std::min(best, t.seconds);
    if (t.timed()) return;
    ++failed[t.status];
    ++failures;
  };
  for (const std::vector<Trial>* trials : {&so_far.trials, &arrived})
    for (const Trial& t : *trials) look(t);
  if (!roofline_) roofline_ = roofline_of(task_, where);
  roofline_->raise_to(roofline_->flops / best);
  const double elapsed = elapsed_s();
  const int done = static_cast<int>(so_far.trials.size() + arrived.size());
  options_.on_trial({done, options_.trials, failures, std::isfinite(best) ? best : 0, elapsed,
                     so_far.measured > 0 ? elapsed / so_far.measured * (options_.trials - done) : 0, &current,
                     roofline_->flops, roofline_->roof(), roofline_->bound(), std::move(failed), pruned,
                     with_rate(boards, so_far.measured / elapsed)});
}

}  // namespace tw::autotune
