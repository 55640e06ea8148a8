#include "autotune/time_ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "autotune/log/history.h"
#include "autotune/log/winner.h"
#include "autotune/measure/here.h"
#include "autotune/measure/measure.h"
#include "autotune/stop_watch.h"
#include "src/runtime/kernel.h"
#include "src/runtime/timing.h"

namespace tw::autotune {

namespace {

constexpr int kRounds = 3;
constexpr size_t kLeaders = 3;      // of a range's own size
constexpr double kAlmost = 1.1;     // of the best there
constexpr int64_t kMiddleFrom = 4;  // times as long as where it begins

// Where a range is timed: its first size, its middle by logarithms, its last.
std::vector<int64_t> places(int64_t before, int64_t last) {
  std::vector<int64_t> all = {before + 1, last};
  if (last >= kMiddleFrom * (before + 1))
    all.push_back(std::llround(std::sqrt(static_cast<double>(before + 1) * static_cast<double>(last))));
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

class Ranges {
 public:
  Ranges(const std::vector<te::Tensor>& args, const ir::Var& size,
         const std::vector<std::pair<ir::Var, int64_t>>& others, const std::vector<TunedSize>& tuned,
         const TuneOptions& options, runtime::Runner* runner)
      : args_(args), size_(size), others_(others), tuned_(tuned), options_(options), runner_(runner) {
    const Target& target = tuned.front().task.target();
    machine_ = runner ? runner->machine() : machine_here(target);
    if (!options.log.empty()) journal_.emplace(options.log);
  }

  Trial best_of(size_t range) {
    const TunedSize& tuned = tuned_[range];
    const RecordKey key = key_of(tuned.task, machine_);
    std::vector<Record> records;
    if (!options_.log.empty()) records = load_log(options_.log, tuned.task.hash()).records;
    std::erase_if(records, [&](const Record& r) { return r.kind != "range" || !(r.key == key); });
    const std::vector<Trial> candidates = candidates_of(range);
    const std::vector<int64_t> sizes = places(range == 0 ? 0 : tuned_[range - 1].value, tuned.value);
    for (const int64_t at : sizes) {
      const auto known = [&](const Trial& t) {
        return std::ranges::any_of(records, [&](const Record& r) { return r.at == at && r.trial.steps == t.steps; });
      };
      if (candidates.size() == 1 || std::ranges::all_of(candidates, known) || stopped()) continue;
      for (Trial& timed : timed_at(at, candidates)) {
        records.push_back(record_of(tuned, at, std::move(timed)));
        if (journal_) journal_->append(records.back());
      }
    }
    records.emplace_back().trial = *tuned.result.best;
    std::vector<const Record*> pointers;
    for (const Record& r : records) pointers.push_back(&r);
    return best_record(pointers)->trial;
  }

 private:
  bool stopped() const { return options_.should_stop && options_.should_stop(); }

  std::vector<Trial> candidates_of(size_t range) const {
    std::vector<Trial> all = {*tuned_[range].result.best};
    const auto add = [&](const Trial& t) {
      if (std::ranges::find(all, t.steps, &Trial::steps) == all.end()) all.push_back(t);
    };
    for (const Trial* leader : fastest(tuned_[range].result.trials, kLeaders))
      if (leader->seconds <= kAlmost * all.front().seconds) add(*leader);
    for (const TunedSize& other : tuned_) add(*other.result.best);
    return all;
  }

  std::vector<Trial> timed_at(int64_t at, const std::vector<Trial>& candidates) {
    const Task& any = tuned_.front().task;
    const Task task = Task::at_size(args_, any.target(), size_, at, any.name(), others_);
    Measurer measurer(task, options_, runner());
    const StopWatch watch(options_.should_stop, [&] {
      measurer.stop();
      runner().cancel();
    });
    std::vector<Built> built;
    for (const Trial& c : candidates) built.push_back(object_of(c, measurer));
    std::vector<std::vector<double>> seconds(built.size());
    for (int round = 0; round < kRounds; ++round)
      for (size_t i = 0; i < built.size() && !measurer.stopped(); ++i) {
        if (!built[i].ok()) continue;
        measurer.run(built[i], 0);
        if (built[i].trial.ok())
          seconds[i].push_back(built[i].trial.seconds);
        else
          built[i].object = {};
      }
    std::vector<Trial> trials;
    for (size_t i = 0; i < built.size() && !measurer.stopped(); ++i) {
      if (built[i].ok()) built[i].trial.seconds = runtime::median(seconds[i]);
      trials.push_back(std::move(built[i].trial));
    }
    return trials;
  }

  // The same code at each size.
  Built object_of(const Trial& candidate, Measurer& measurer) {
    const std::string steps = configuration_of(candidate);
    const auto known = objects_.find(steps);
    if (known != objects_.end()) return known->second;
    Built built = measurer.rebuild(candidate);
    built.lower_bound = 0;  // that of one size
    return objects_.emplace(steps, std::move(built)).first->second;
  }

  runtime::Runner& runner() {
    if (runner_ != nullptr) return *runner_;
    runtime::require_measuring_allowed("tune");
    local_ = runner_here(tuned_.front().task.target());
    runner_ = local_.get();
    return *runner_;
  }

  Record record_of(const TunedSize& tuned, int64_t at, Trial trial) const {
    Record r;
    r.kind = "range";
    r.at = at;
    r.key = key_of(tuned.task, machine_);
    r.name = tuned.task.name();
    r.args = tuned.task.args();
    r.trial = std::move(trial);
    return r;
  }

  const std::vector<te::Tensor>& args_;
  const ir::Var& size_;
  const std::vector<std::pair<ir::Var, int64_t>>& others_;
  const std::vector<TunedSize>& tuned_;
  const TuneOptions& options_;
  runtime::Runner* runner_;
  std::unique_ptr<runtime::Runner> local_;
  MachineDescription machine_;
  std::optional<Journal> journal_;
  std::map<std::string, Built> objects_;
};

}  // namespace

std::vector<Trial> time_ranges(const std::vector<te::Tensor>& args, const ir::Var& size,
                               const std::vector<std::pair<ir::Var, int64_t>>& others,
                               const std::vector<TunedSize>& tuned, const TuneOptions& options,
                               runtime::Runner* runner) {
  std::vector<Trial> all;
  const bool whole = std::ranges::all_of(tuned, [](const TunedSize& t) { return t.result.best && !t.result.stopped; });
  Ranges ranges(args, size, others, tuned, options, runner);
  for (size_t i = 0; whole && i < tuned.size(); ++i) all.push_back(ranges.best_of(i));
  return all;
}

}  // namespace tw::autotune
