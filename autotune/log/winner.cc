#include "autotune/log/winner.h"

#include <algorithm>
#include <map>

#include "autotune/log/range_winner.h"
#include "src/runtime/rounds.h"

namespace tw::autotune {

namespace {

constexpr double kClearlyFaster = 0.8;  // of the best that was timed again

// A lost worker says nothing, and a bound is no time.
bool failed(const Trial& t) { return !t.timed() && t.status != to_string(runtime::RunStatus::kDeviceLost); }

// All that is known of one configuration.
struct Times {
  const Record* first = nullptr;
  std::vector<const Record*> again;
  bool failed = false;

  void add(const Record& r) {
    failed = failed || autotune::failed(r.trial);
    if (!r.trial.ok()) return;
    if (r.kind == "confirm")
      again.push_back(&r);
    else if (first == nullptr)
      first = &r;
  }
  const Record* typical() const {
    if (failed || again.empty()) return nullptr;
    std::vector<const Record*> sorted = again;
    if (first != nullptr) sorted.push_back(first);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Record* a, const Record* b) { return a->trial.seconds < b->trial.seconds; });
    return sorted[std::min<size_t>(1, sorted.size() - 1)];
  }
};

const Record* faster(const Record* a, const Record* b) {
  if (a == nullptr || b == nullptr) return a ? a : b;
  return b->trial.seconds < a->trial.seconds ? b : a;
}

}  // namespace

std::string configuration_of(const Trial& trial) {
  return trial.steps.empty() ? trial.knobs : schedule::to_json(trial.steps);
}

const Record* best_record(const std::vector<const Record*>& records) {
  std::map<std::string, Times> by_steps;
  for (const Record* r : records)
    if (r->kind != "range") by_steps[configuration_of(r->trial)].add(*r);
  const Record *confirmed = nullptr, *other = nullptr;
  for (const auto& [steps, times] : by_steps) {
    confirmed = faster(confirmed, times.typical());
    if (!times.failed && times.again.empty()) other = faster(other, times.first);
  }
  const Record* best = confirmed ? confirmed : other;
  if (confirmed != nullptr && other != nullptr && other->trial.seconds < kClearlyFaster * confirmed->trial.seconds)
    best = other;
  return best_in_range(records, best);
}

std::optional<Trial> winner(const std::vector<Trial>& trials, const std::vector<Record>& confirmed) {
  std::vector<Record> records = confirmed;
  for (const Trial& trial : trials) records.emplace_back().trial = trial;
  std::vector<const Record*> pointers;
  for (const Record& r : records) pointers.push_back(&r);
  const Record* best = best_record(pointers);
  if (best == nullptr) return std::nullopt;
  Trial trial = best->trial;
  for (const Trial& t : trials)
    if (t.steps == trial.steps) trial.index = t.index;
  return trial;
}

std::vector<const Trial*> fastest(const std::vector<Trial>& trials, size_t count) {
  std::vector<const Trial*> sorted;
  for (const Trial& t : trials) {
    if (t.ok()) sorted.push_back(&t);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Trial* a, const Trial* b) { return a->seconds < b->seconds; });
  if (sorted.size() > count) sorted.resize(count);
  return sorted;
}

std::vector<const Trial*> next_round(const std::vector<const Trial*>& leaders, const std::vector<Record>& confirmed) {
  std::vector<runtime::LeaderTimes> times;
  for (const Trial* leader : leaders) {
    runtime::LeaderTimes& here = times.emplace_back();
    here.first = leader->seconds;
    for (const Record& r : confirmed) {
      if (r.trial.steps != leader->steps) continue;
      ++here.rounds;
      here.failed = here.failed || failed(r.trial);
      if (r.trial.ok()) here.again.push_back(r.trial.seconds);
    }
  }
  std::vector<const Trial*> round;
  for (const size_t place : runtime::next_round(times)) round.push_back(leaders[place]);
  return round;
}

}  // namespace tw::autotune
