// A budget over many tasks.
#include "autotune/task_scheduler.h"

#include <algorithm>
#include <cmath>

#include "autotune/tuner.h"

namespace tw::autotune {

namespace {

constexpr double kTrialOverhead = 0.05;  // seconds to build, to start and to check, whatever the kernel
constexpr double kHope = 0.2;            // share of a kernel's time that its first trials may save

double seconds_per_trial(const std::vector<Trial>& trials) {
  double sum = 0;
  for (const Trial& t : trials) sum += kTrialOverhead + t.seconds * std::max(1, t.runs);
  return trials.empty() ? kTrialOverhead : sum / static_cast<double>(trials.size());
}

// Seconds of the whole that a second of measuring should save: what the last two batches saved, or what a task of so
// few trials may still hold. Infinity for a task without a result.
double expected_gain(const TuningState& state, size_t batch) {
  const size_t n = state.curve.size();
  if (n == 0 || !std::isfinite(state.curve.back())) return n < 8 * batch ? INFINITY : 0;
  const double best = state.curve.back();
  const size_t before = n > 2 * batch ? n - 2 * batch : 0;
  double saved = 0;
  if (std::isfinite(state.curve[before])) saved = (state.curve[before] - best) / static_cast<double>(n - before);
  const double hoped = kHope * best / static_cast<double>(n);
  return state.weight * std::max(saved, hoped) / state.seconds_per_trial;
}

}  // namespace

int next_task(const std::vector<TuningState>& states, size_t batch) {
  int next = -1;
  double most = -1;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].finished) continue;
    const double gain = expected_gain(states[i], batch);
    if (gain < most || (gain == most && states[i].begun >= states[static_cast<size_t>(next)].begun)) continue;
    most = gain;
    next = static_cast<int>(i);
  }
  return next;
}

TaskScheduler::TaskScheduler(std::vector<Task> tasks, std::vector<double> weights)
    : tasks_(std::move(tasks)), weights_(std::move(weights)) {
  const auto refuse = [](const std::string& what) { throw Error(Diagnostic{ErrorKind::kArgument, what, {}, {}}); };
  if (tasks_.empty()) refuse("TaskScheduler: there must be a task");
  if (weights_.empty()) weights_.assign(tasks_.size(), 1);
  if (weights_.size() != tasks_.size())
    refuse("TaskScheduler: there must be one weight per task: " + std::to_string(weights_.size()) + " weights, " +
           std::to_string(tasks_.size()) + " tasks");
  for (double w : weights_)
    if (!(w > 0 && std::isfinite(w))) refuse("TaskScheduler: weights must be positive");
}

std::vector<TuneResult> TaskScheduler::run(const TuneOptions& options, runtime::Runner* runner) const {
  std::vector<std::unique_ptr<Tuning>> tuners;
  for (const Task& task : tasks_) tuners.push_back(start_tuning(task, options, runner));
  const auto batch = static_cast<size_t>(options.batch);
  std::vector<TuningState> states(tasks_.size());
  const auto spent = [&] {
    int trials = 0;
    for (const auto& tuner : tuners) trials += tuner->begun();
    return trials;
  };
  // Without what others need that have nothing yet: a task without a record is a kernel that cannot be built.
  const auto room = [&](size_t i) {
    const int share = std::clamp(options.trials / static_cast<int>(tasks_.size()), 1, options.batch);
    int left = options.trials - spent();
    for (size_t other = 0; other < tasks_.size(); ++other)
      if (other != i && !states[other].finished && tuners[other]->begun() == 0) left -= share;
    return tuners[i]->begun() == 0 ? std::max(1, left) : left;
  };
  const auto look_at = [&](size_t i) {
    const TuneResult& r = tuners[i]->so_far();
    states[i] = {weights_[i], r.curve, seconds_per_trial(r.trials), states[i].finished, tuners[i]->begun()};
  };
  const auto step = [&](size_t i) {
    states[i].finished = !tuners[i]->step(room(i));
    look_at(i);
  };
  for (size_t i = 0; i < tuners.size(); ++i) {
    tuners[i]->begin();
    look_at(i);
  }
  // A batch that was cut off is finished first: decisions fall between batches.
  for (size_t i = 0; i < tuners.size(); ++i)
    while (tuners[i]->cut_off() && !states[i].finished && room(i) > 0) step(i);
  while (spent() < options.trials && !tuners.front()->stopping()) {
    const int next = next_task(states, batch);
    if (next < 0) break;
    step(static_cast<size_t>(next));
  }
  std::vector<TuneResult> results;
  for (const auto& tuner : tuners) results.push_back(tuner->finish());
  return results;
}

std::vector<TuneResult> TaskScheduler::tune(const TuneOptions& options, runtime::Runner& runner) const {
  return run(options, &runner);
}

std::vector<TuneResult> TaskScheduler::tune(const TuneOptions& options) const { return run(options, nullptr); }

}  // namespace tw::autotune
