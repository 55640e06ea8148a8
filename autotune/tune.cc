// The tuning loop: propose, build, run, record, learn.
//
// Decisions depend on the seed and the log only. Batch b is proposed from the first b * batch records of the log; what
// the log holds beyond them counts as the batch's first part. A run that was killed and continued proposes what it
// would have.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "autotune/features.h"
#include "autotune/history.h"
#include "autotune/knobs.h"
#include "autotune/measure.h"
#include "autotune/search.h"
#include "src/runtime/local_runner.h"

namespace tw::autotune {

namespace {

constexpr int kConfirmRounds = 3;
const std::string kDeviceLost(to_string(runtime::RunStatus::kDeviceLost));

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool measuring_is_forbidden() {
  const char* value = std::getenv("TW_MEASURE");
  return value != nullptr && std::string_view(value) == "forbid";
}

void check_options(const TuneOptions& o) {
  const auto refuse = [](const std::string& what) { throw Error(Diagnostic{ErrorKind::kArgument, what, {}, {}}); };
  if (o.trials < 1) refuse("tune: trials must be a positive integer, not " + std::to_string(o.trials));
  if (o.batch < 1) refuse("tune: batch must be a positive integer, not " + std::to_string(o.batch));
  if (o.early_stop < 0)
    refuse("tune: early_stop must be a positive integer or None, not " + std::to_string(o.early_stop));
  if (!(o.timeout_s > 0) || o.timeout_s > 86400) refuse("tune: timeout must be positive seconds, at most a day");
  if (o.number < 0 || o.repeat < 0) refuse("tune: number and repeat must be positive integers");
  if (o.confirm < 0) refuse("tune: confirm must not be negative");
  if (!(o.explore >= 0 && o.explore <= 1)) refuse("tune: explore must be within 0..1");
}

void check_target(const Target& target) {
  if (target.kind != "llvm") {
    tune_error("tuning measures compiled kernels; the target must be of kind llvm, not " + target.kind);
  }
  std::string missing;
  const Target host = Target::host();
  for (const std::string& feature : target.features) {
    if (!host.has(feature)) missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (target.triple != host.triple || !missing.empty()) {
    tune_error("this machine cannot run code for " + target.to_string(),
               {missing.empty() ? "it is a " + host.triple : "it lacks " + missing,
                "tune on a machine that can, or for another target"});
  }
}

// Calls `on_stop` from a thread of its own once `should_stop` says so.
class StopWatch {
 public:
  StopWatch(const std::function<bool()>& should_stop, std::function<void()> on_stop) {
    if (!should_stop) return;
    thread_ = std::jthread([this, should_stop, on_stop = std::move(on_stop)](std::stop_token token) {
      std::unique_lock lock(mutex_);
      while (!token.stop_requested() && !should_stop())
        wake_.wait_for(lock, token, std::chrono::milliseconds(30), [] { return false; });
      if (!token.stop_requested()) on_stop();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

class Tuner {
 public:
  Tuner(const Task& task, const TuneOptions& options, runtime::Runner* runner)
      : task_(task),
        options_(options),
        runner_(runner),
        machine_(schedule::describe_machine(task.target(), host_hardware(), runtime::num_threads())),
        proposer_(
            task.space(), make_search(options.search), make_cost_model(options.model, options.seed),
            [this](uint64_t i) { return features_of(i); }, [this](uint64_t i) { return is_legal(i); }, options.seed,
            options.explore) {
    if (options.log.empty()) return;
    journal_.emplace(options.log);
    log_ = load_log(options.log);
  }

  TuneResult run() {
    start_ = now();
    read_history();
    while (static_cast<int>(result_.trials.size()) < options_.trials && !stopping() && !exhausted_early() &&
           next_batch())
      continue;
    if (!result_.stopped && !stopping()) confirm_leaders();
    return finish();
  }

 private:
  static double seconds_or_infinity(const Trial& t) { return t.ok() || t.status == "beaten" ? t.seconds : INFINITY; }

  std::optional<std::vector<float>> features_of(uint64_t index) {
    Result<Scheduled> s = task_.applied(index);
    if (!s) {
      ++refusals_[s.error().what];
      return std::nullopt;
    }
    std::vector<float> features = nest_features(s->schedule, machine_);
    append_knob_features(task_.space(), index, features);
    return features;
  }

  bool is_legal(uint64_t index) {
    Result<Scheduled> s = task_.candidate(index);
    if (!s) ++refusals_[s.error().what];
    return s.ok();
  }

  // Trials of the log that lie in this space, the first of each configuration.
  void read_history() {
    const RecordKey key = key_of(task_, runtime::num_threads());
    std::unordered_map<uint64_t, bool> seen;
    for (const Record& r : log_.records) {
      if (!(r.key == key) || r.trial.status == kDeviceLost) continue;
      const Result<uint64_t> index = task_.space().find(r.trial.knobs);
      if (!index) continue;
      Trial trial = r.trial;
      trial.index = *index;
      if (r.kind == "confirm")
        confirmed_.push_back(r);
      else if (seen.emplace(*index, true).second)
        note(std::move(trial));
    }
  }

  void note(Trial trial) {
    if (trial.ok() && trial.seconds < best_seconds_) {
      best_seconds_ = trial.seconds;
      best_at_ = result_.trials.size();
    }
    if (!trial.ok() && trial.status != "beaten") result_.failures.push_back(trial);
    result_.curve.push_back(best_seconds_);
    result_.trials.push_back(std::move(trial));
  }

  bool exhausted_early() const {
    return options_.early_stop > 0 && std::isfinite(best_seconds_) &&
           result_.trials.size() - best_at_ > static_cast<size_t>(options_.early_stop);
  }
  bool stopping() { return (measurer_ && measurer_->stopped()) || (options_.should_stop && options_.should_stop()); }

  Measurer& measurer() {
    if (measurer_) return *measurer_;
    if (measuring_is_forbidden()) tune_error("tuning would measure, and TW_MEASURE=forbid is set");
    check_target(task_.target());
    if (runner_ == nullptr) {
      local_ = std::make_unique<runtime::LocalRunner>();
      runner_ = local_.get();
    }
    measurer_ = std::make_unique<Measurer>(task_, options_, *runner_);
    watch_ = std::make_unique<StopWatch>(options_.should_stop, [this] {
      measurer_->stop();
      runner_->cancel();
    });
    return *measurer_;
  }

  // A lost worker says nothing about the candidate.
  void tell(const Trial& t) {
    if (t.status == kDeviceLost)
      proposer_.exclude(t.index);
    else
      proposer_.tell(t.index, seconds_or_infinity(t));
  }

  // False when the space holds nothing more.
  bool next_batch() {
    const size_t batch = static_cast<size_t>(options_.batch), number = result_.trials.size() / batch;
    for (; told_ < number * batch; ++told_) tell(result_.trials[told_]);
    std::vector<uint64_t> proposal = proposer_.propose(batch, number);
    const auto known = [&](uint64_t i) {
      return std::any_of(result_.trials.begin() + static_cast<ptrdiff_t>(told_), result_.trials.end(),
                         [&](const Trial& t) { return t.index == i; });
    };
    if (proposal.empty()) return false;
    std::erase_if(proposal, known);
    const size_t room =
        std::min(batch - (result_.trials.size() - told_), static_cast<size_t>(options_.trials) - result_.trials.size());
    if (proposal.size() > room) proposal.resize(room);
    if (proposal.empty()) return false;
    measure(proposal);
    return true;
  }

  void measure(const std::vector<uint64_t>& proposal) {
    const size_t first = result_.trials.size();
    for (Built& built : measurer().build(proposal)) {
      if (built.ok()) measurer_->run(built, std::isfinite(best_seconds_) ? 2 * best_seconds_ : 0);
      if (measurer_->stopped()) break;  // what was cut short says nothing
      append("trial", built.trial);
      note(built.trial);
      ++result_.measured;
      keep_leader(std::move(built));
      report();
      if (exhausted_early()) break;
    }
    if (options_.on_batch && result_.trials.size() > first) {
      options_.on_batch({result_.trials.begin() + static_cast<ptrdiff_t>(first), result_.trials.end()});
    }
  }

  void append(const std::string& kind, const Trial& trial) {
    Record record;
    record.kind = kind;
    record.key = key_of(task_, runtime::num_threads());
    record.name = task_.name();
    record.args = task_.args();
    record.hardware = runner_->describe();
    record.trial = trial;
    record.seed = options_.seed;
    if (journal_) journal_->append(record);
    if (kind == "confirm") confirmed_.push_back(std::move(record));
  }

  // The shared objects of the fastest few stay until they are timed again.
  void keep_leader(Built built) {
    if (!built.trial.ok()) return measurer_->forget(built);
    leaders_.push_back(std::move(built));
    std::stable_sort(leaders_.begin(), leaders_.end(),
                     [](const Built& a, const Built& b) { return a.trial.seconds < b.trial.seconds; });
    if (leaders_.size() <= static_cast<size_t>(options_.confirm)) return;
    measurer_->forget(leaders_.back());
    leaders_.pop_back();
  }

  void report() {
    if (!options_.on_trial) return;
    const double elapsed = now() - start_;
    const int done = static_cast<int>(result_.trials.size()), left = options_.trials - done;
    Progress p{done,
               options_.trials,
               static_cast<int>(result_.failures.size()),
               std::isfinite(best_seconds_) ? best_seconds_ : 0,
               elapsed,
               result_.measured > 0 ? elapsed / result_.measured * left : 0,
               &result_.trials.back()};
    options_.on_trial(p);
  }

  // Rounds over the fastest configurations, interleaved, so that a drift of the machine meets all of them alike.
  void confirm_leaders() {
    std::vector<const Trial*> fastest;
    for (const Trial& t : result_.trials) {
      if (t.ok()) fastest.push_back(&t);
    }
    std::stable_sort(fastest.begin(), fastest.end(),
                     [](const Trial* a, const Trial* b) { return a->seconds < b->seconds; });
    if (fastest.size() > static_cast<size_t>(options_.confirm)) fastest.resize(static_cast<size_t>(options_.confirm));
    std::vector<Built> ready;
    for (const Trial* trial : fastest) {
      const auto same = [&](const Record& r) { return r.trial.steps == trial->steps; };
      const auto times = std::count_if(confirmed_.begin(), confirmed_.end(), same);
      if (times >= kConfirmRounds || stopping()) continue;
      const auto kept =
          std::find_if(leaders_.begin(), leaders_.end(), [&](const Built& b) { return b.trial.index == trial->index; });
      Built built = kept != leaders_.end() ? *kept : measurer().rebuild(*trial);
      if (built.ok()) ready.push_back(std::move(built));
    }
    for (int round = 0; round < kConfirmRounds; ++round) {
      for (Built& built : ready) {
        if (stopping()) return;
        measurer().run(built, 0);
        if (measurer_->stopped()) return;
        append("confirm", built.trial);
      }
    }
  }

  TuneResult finish() {
    result_.stopped = stopping();
    result_.elapsed_s = now() - start_;
    if (options_.model == "auto" && !has_xgboost()) {
      result_.note = "this build has no learned model (TW_XGBOOST=OFF); candidates were not ranked";
    }
    if (log_.damaged > 0) {
      result_.note +=
          (result_.note.empty() ? "" : "; ") + std::to_string(log_.damaged) + " damaged lines of the log were skipped";
    }
    std::vector<Record> records = confirmed_;
    for (const Trial& trial : result_.trials) records.push_back(Record{"trial", {}, {}, {}, {}, trial, 0, {}, {}});
    std::vector<const Record*> pointers;
    for (const Record& r : records) pointers.push_back(&r);
    if (const Record* best = best_record(pointers)) {
      result_.best = best->trial;
      for (const Trial& t : result_.trials) {
        if (t.steps == best->trial.steps) result_.best->index = t.index;
      }
    } else if (!result_.stopped) {
      every_candidate_failed();
    }
    return std::move(result_);
  }

  [[noreturn]] void every_candidate_failed() const {
    std::map<std::string, int> reasons;
    for (const Trial& t : result_.failures) ++reasons[t.status + ": " + t.detail.substr(0, 200)];
    const std::map<std::string, int>& counts = reasons.empty() ? refusals_ : reasons;
    const auto commonest = std::max_element(counts.begin(), counts.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<std::string> notes = {"task " + call_text(task_.name(), task_.args()) + ", a space of " +
                                      std::to_string(task_.space().size()) + " points"};
    if (commonest != counts.end()) {
      notes.push_back("the commonest reason, " + std::to_string(commonest->second) + " times: " + commonest->first);
    }
    const size_t tried = reasons.empty() ? proposer_.refused() : result_.trials.size();
    tune_error("every candidate failed: " + std::to_string(tried) +
                   (reasons.empty() ? " were refused as illegal schedules" : " were measured"),
               notes);
  }

  const Task& task_;
  const TuneOptions& options_;
  runtime::Runner* runner_;  // null until something is measured
  std::unique_ptr<runtime::Runner> local_;
  Machine machine_;
  Proposer proposer_;
  std::optional<Journal> journal_;
  Log log_;
  std::map<std::string, int> refusals_;
  TuneResult result_;
  std::vector<Record> confirmed_;
  std::vector<Built> leaders_;
  size_t told_ = 0, best_at_ = 0;
  double best_seconds_ = INFINITY, start_ = 0;
  std::unique_ptr<Measurer> measurer_;
  std::unique_ptr<StopWatch> watch_;  // after the measurer, which it stops
};

}  // namespace

TuneResult tune(const Task& task, const TuneOptions& options, runtime::Runner& runner) {
  check_options(options);
  return Tuner(task, options, &runner).run();
}

TuneResult tune(const Task& task, const TuneOptions& options) {
  check_options(options);
  return Tuner(task, options, nullptr).run();
}

}  // namespace tw::autotune
