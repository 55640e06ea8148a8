// The tuning loop: propose, build, run, record, learn.
//
// Decisions depend on the seed and the log only. Batch b is proposed from the first b * batch records of the log; what
// the log holds beyond them counts as the batch's first part. A run that was killed and continued proposes what it
// would have. Where the Runner is elsewhere all of that is one batch late, and this machine builds meanwhile (ahead.h).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "autotune/account.h"
#include "autotune/ahead.h"
#include "autotune/leaders.h"
#include "autotune/log/history.h"
#include "autotune/log/transfer.h"
#include "autotune/log/winner.h"
#include "autotune/measure/here.h"
#include "autotune/measure/run_queue.h"
#include "autotune/model/features.h"
#include "autotune/no_result.h"
#include "autotune/search/proposer.h"
#include "autotune/space/knobs.h"
#include "autotune/stop_watch.h"
#include "autotune/tuner.h"
#include "autotune/watched.h"
#include "codegen/calibration.h"

namespace tw::autotune {

namespace {

const std::string kDeviceLost(to_string(runtime::RunStatus::kDeviceLost));
constexpr size_t kIncumbentEvery = 32;  // trials

bool measuring_is_forbidden() {
  const char* value = std::getenv("TW_MEASURE");
  return value != nullptr && std::string_view(value) == "forbid";
}

// Those of a merged log, or of one that is no tuning's, have no meaning together.
bool numbers_are_of_one_tuning(const std::vector<std::pair<int64_t, Trial>>& trials, size_t batch) {
  const auto most = static_cast<int64_t>(2 * (trials.size() + batch));
  std::set<int64_t> numbers;
  for (const auto& [number, trial] : trials)
    if (number >= 0 && number < most) numbers.insert(number);
  return numbers.size() == trials.size();
}

class Tuner final : public Tuning {
 public:
  // `elsewhere`: a machine that no Runner reaches; without it and without a Runner, this one.
  Tuner(const Task& task, const TuneOptions& options, runtime::Runner* runner, const MachineDescription* elsewhere)
      : task_(task),
        options_(options),
        runner_(runner),
        elsewhere_(elsewhere != nullptr),
        where_(elsewhere ? *elsewhere
               : runner  ? runner->machine()
                         : machine_here(task.target())),
        proposer_(
            task.space(), make_search(options.search), make_cost_model(options.model, options.seed),
            [this](uint64_t i) { return describe_candidate(i); }, [this](uint64_t i) { return is_legal(i); },
            options.seed, options.explore) {
    limit();
    if (!options.log.empty() && !elsewhere_) journal_.emplace(options.log);
    if (!options.log.empty()) log_ = load_log(options.log, task.hash());
    find_rates();
    machine_ = schedule::describe_machine(task.target(), where_);
    if (runner != nullptr && (runner->elsewhere() || runner->slots() > 1))
      ahead_ = std::make_unique<Ahead>(static_cast<size_t>(options.batch));
  }

  void begin() override {
    watched_.begin();
    if (!options_.model_file.empty() && std::filesystem::exists(options_.model_file))
      proposer_.start_from(read_model_file(options_.model_file));
    if (!options_.transfer.empty()) proposer_.start_from(samples_of_logs(options_.transfer));
    read_history();
    while (ahead_ && ahead_->complete(next_)) go_ahead(ahead_->indices(next_));
  }

  bool step(int room) override {
    begun_ = true;
    if (stopping() || exhausted_early()) return false;
    return ahead_ ? next_batch_ahead(static_cast<size_t>(room)) : next_batch(static_cast<size_t>(room));
  }

  int begun() const override { return static_cast<int>(result_.trials.size() + (ahead_ ? ahead_->size() : 0)); }

  bool cut_off() const override {
    return ahead_ ? ahead_->reaches(next_) : result_.trials.size() % static_cast<size_t>(options_.batch) != 0;
  }

  bool stopping() override {
    return (measurer_ && measurer_->stopped()) || (options_.should_stop && options_.should_stop());
  }

  const TuneResult& so_far() const override { return result_; }

  // What is told decides, and nothing that was packed before and has not come back.
  rpc::Pack pack(int count) override {
    tell_all();
    const auto batch = static_cast<size_t>(options_.batch);
    const std::vector<uint64_t> proposal = proposer_.propose(static_cast<size_t>(count), told_ / batch);
    if (proposal.empty()) nothing_to_pack();
    const std::vector<Built> built = measurer().build(candidates_of(proposal));
    rpc::Pack pack = measurer().pack();
    pack.task = call_text(task_.name(), task_.args());
    pack.checks.hardware = where_.name;
    pack.best_s = std::isfinite(account_.best_seconds()) ? account_.best_seconds() : 0;
    for (size_t i = 0; i < built.size(); ++i) {
      Record record = record_of("trial", built[i].trial, static_cast<int64_t>(told_ + i));
      record.time = "when it was measured";  // which is filled in then
      const std::string line = to_line(record);
      pack.candidates.push_back({support::unsealed(std::string_view(line).substr(0, line.size() - 1)).value_or_throw(),
                                 built[i].object, built[i].lower_bound});
    }
    return pack;
  }

  TuneResult finish() override {
    while (ahead_ && (counted_ < next_ || ahead_->reaches(counted_))) count(counted_++);
    if (!stopping()) confirm_leaders();
    queue_.reset();  // nothing arrives from here on
    for (size_t late = 0; ahead_ && ahead_->reaches(late); ++late) count(late);
    result_.stopped = stopping();
    result_.elapsed_s = watched_.elapsed_s();
    result_.pruned = static_cast<int>(proposer_.pruned());
    result_.alike = static_cast<int>(proposer_.alike());
    keep_model();
    take_notes();
    pick_best();
    return std::move(result_);
  }

 private:
  void limit() {
    if (!options_.range) return;
    const auto [first, last] = *options_.range;
    if (first > last || last >= task_.space().size())
      throw Error({ErrorKind::kArgument,
                   "tune: range_idx must lie within 0.." + std::to_string(task_.space().size() - 1) + ", not be (" +
                       std::to_string(first) + ", " + std::to_string(last) + ")",
                   {},
                   {"the first and the last index that are measured"}});
    proposer_.limit(first, last);
  }

  static double seconds_or_infinity(const Trial& t) { return t.ok() || t.status == "beaten" ? t.seconds : INFINITY; }

  std::optional<Description> describe_candidate(uint64_t index) {
    Result<Scheduled> s = task_.applied(index);
    if (s) return description_of(s->schedule, machine_);
    ++refusals_[s.error().what];
    return std::nullopt;
  }

  // What is proposed is prepared by then. It is applied once more for that: keeping the schedules of all that are
  // described would cost more than applying the few that are proposed.
  bool is_legal(uint64_t index) {
    Result<Candidate> c = prepare(task_, index);
    const bool legal = c.ok();
    if (legal)
      prepared_.insert_or_assign(index, *std::move(c));
    else
      ++refusals_[c.error().what];
    return legal;
  }

  // Those that the log was begun with, so that what comes is what would have come. Another machine's Runner brings its
  // own.
  void find_rates() {
    const RecordKey key = key_of(task_, where_);
    const int bits = task_.target().abilities.vector_bits;
    for (const Record& r : log_.records)
      if (r.key == key && r.rates) {
        where_.rates[bits] = *r.rates;
        return;
      }
    if (runner_ == nullptr && !elsewhere_) where_ = codegen::calibrated(std::move(where_), task_.target());
  }

  void read_history() {
    Known known = known_trials(std::move(log_.records), task_, where_);
    confirmed_ = std::move(known.confirmed);
    if (!ahead_) {
      for (auto& [number, trial] : known.trials) account_.note(std::move(trial), number);
      return;
    }
    const bool gave_them = numbers_are_of_one_tuning(known.trials, static_cast<size_t>(options_.batch));
    for (size_t i = 0; i < known.trials.size(); ++i)
      ahead_->read(gave_them ? known.trials[i].first : static_cast<int64_t>(i), std::move(known.trials[i].second));
  }

  bool exhausted_early() const {
    return options_.early_stop > 0 && std::isfinite(account_.best_seconds()) &&
           account_.since_best() > static_cast<size_t>(options_.early_stop);
  }

  // Asked of a batch that was proposed and not yet measured.
  bool sees_no_gain() const {
    return options_.stop_without_gain && proposer_.expects_no_gain() && std::isfinite(account_.best_seconds()) &&
           account_.since_best() > 2 * static_cast<size_t>(options_.batch);
  }
  Measurer& measurer() {
    if (measurer_) return *measurer_;
    if (measuring_is_forbidden()) tune_error("tuning would measure, and TW_MEASURE=forbid is set");
    if (elsewhere_) {
      measurer_ = std::make_unique<Measurer>(task_, options_, where_);
      return *measurer_;
    }
    if (runner_ == nullptr) {
      local_ = runner_here(task_.target());
      runner_ = local_.get();
    }
    check_target(task_.target(), *runner_);
    measurer_ = std::make_unique<Measurer>(task_, options_, *runner_);
    watch_ = std::make_unique<StopWatch>(options_.should_stop, [this] {
      measurer_->stop();
      runner_->cancel();
    });
    return *measurer_;
  }

  void tell_all() {
    for (; told_ < result_.trials.size(); ++told_) tell(result_.trials[told_]);
  }

  // A lost worker says nothing about the candidate.
  void tell(const Trial& t) {
    if (t.status == kDeviceLost)
      proposer_.exclude(t.index);
    else
      proposer_.tell(t.index, seconds_or_infinity(t));
  }

  // False when the space holds nothing more.
  bool next_batch(size_t room) {
    const size_t batch = static_cast<size_t>(options_.batch), number = result_.trials.size() / batch;
    for (; told_ < number * batch; ++told_) tell(result_.trials[told_]);
    prepared_.clear();
    const std::vector<uint64_t> proposal = proposer_.propose(batch, number);
    watched_.pruned = static_cast<int>(proposer_.pruned());
    const auto known = [&](uint64_t i) {
      return std::any_of(result_.trials.begin() + static_cast<ptrdiff_t>(told_), result_.trials.end(),
                         [&](const Trial& t) { return t.index == i; });
    };
    if (proposal.empty() || sees_no_gain()) return false;
    room = std::min(batch - (result_.trials.size() - told_), room);
    std::vector<size_t> missing;  // places in the proposal
    for (size_t place = 0; place < proposal.size() && missing.size() < room; ++place)
      if (!known(proposal[place])) missing.push_back(place);
    if (missing.empty()) return false;
    measure(proposal, missing);
    return true;
  }

  // Of proposals, which are prepared by then.
  std::vector<Candidate> candidates_of(const std::vector<uint64_t>& indices) {
    std::vector<Candidate> candidates;
    for (const uint64_t index : indices) {
      candidates.push_back(std::move(prepared_.at(index)));
      candidates.back().bound = proposer_.description_of(index)->bound;
    }
    return candidates;
  }

  void measure(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing) {
    const size_t first = result_.trials.size();
    std::vector<uint64_t> indices;
    for (const size_t place : missing) indices.push_back(proposal[place]);
    std::vector<Built> built = measurer().build(candidates_of(indices));
    for (size_t i = 0; i < built.size() && !exhausted_early() && !measurer_->stopped(); ++i) {
      if (built[i].ok()) measurer_->run(built[i], account_.give_up_above(told_));
      if (measurer_->stopped()) break;
      const auto number = static_cast<int64_t>(told_ + missing[i]);
      append(record_of("trial", built[i].trial, number));
      account_.note(built[i].trial, number);
      ++result_.measured;
      leaders_.keep(built[i]);
      report(built[i].trial);
    }
    account_.put_in_order(told_);
    if (options_.on_batch && result_.trials.size() > first) {
      options_.on_batch({result_.trials.begin() + static_cast<ptrdiff_t>(first), result_.trials.end()});
    }
  }

  // ------------------------------------------------------------------------------------------------ runs elsewhere

  // Builds and begins the next batch while the last one runs, then waits for that. False as next_batch.
  bool next_batch_ahead(size_t room) {
    if (ahead_->complete(next_)) {
      go_ahead(ahead_->indices(next_));
      return true;
    }
    tell_all();
    prepared_.clear();
    std::vector<uint64_t> proposal = proposer_.propose(static_cast<size_t>(options_.batch), next_, last_proposal_);
    watched_.pruned = static_cast<int>(proposer_.pruned());
    if (proposal.empty() || sees_no_gain()) return false;
    const std::vector<size_t> missing = missing_of(proposal, room);
    if (missing.empty()) return false;
    begin_runs(proposal, missing);
    for (const uint64_t known : ahead_->indices(next_)) proposal.push_back(known);
    go_ahead(std::move(proposal));
    return !measurer_->stopped();
  }

  void go_ahead(std::vector<uint64_t> proposal) {
    last_proposal_ = std::move(proposal);
    ++next_;
    while (counted_ + 1 < next_) {
      const size_t before = result_.trials.size();
      const bool fresh = count(counted_++);
      if (fresh && result_.trials.size() / kIncumbentEvery > before / kIncumbentEvery) time_incumbent_again();
    }
  }

  // Places in the proposal of what has not been measured, as many as the batch lacks.
  std::vector<size_t> missing_of(const std::vector<uint64_t>& proposal, size_t room) const {
    room = std::min(static_cast<size_t>(options_.batch) - ahead_->arrived(next_), room);
    std::vector<size_t> missing;
    for (size_t place = 0; place < proposal.size() && missing.size() < room; ++place)
      if (!ahead_->has(proposal[place])) missing.push_back(place);
    return missing;
  }

  void begin_runs(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing) {
    std::vector<uint64_t> indices;
    for (const size_t place : missing) indices.push_back(proposal[place]);
    std::vector<Built> built = measurer().build(candidates_of(indices));
    for (size_t i = 0; i < built.size() && !measurer_->stopped(); ++i) {
      const int64_t number = ahead_->begin(next_, missing[i]);
      const double limit = give_up_ahead();
      Record record = record_of("trial", built[i].trial, number);
      begin_run(std::move(record), std::move(built[i]), limit);
      if (limit == 0) queue_->wait([&] { return !ahead_->under_way(next_); });  // whether the next one has a limit
    }
  }

  // As Account::give_up_above, one batch late.
  double give_up_ahead() const {
    return 2 * (std::isfinite(account_.best_seconds()) ? account_.best_seconds() : ahead_->first_time());
  }

  // The record is whole but for the result, which comes to another thread.
  void begin_run(Record record, Built built, double limit) {
    if (!queue_) queue_ = std::make_unique<RunQueue>(*measurer_, runner_->slots());
    queue_->add(std::move(built), limit, [this, record = std::move(record)](Built arrived) mutable {
      record.trial = arrived.trial;
      arrives(std::move(record), std::move(arrived));
    });
  }

  // In the log at once, wherever it comes from.
  void arrives(Record record, Built built) {
    const std::lock_guard lock(shared_);
    const int64_t number = record.number;
    const bool again = record.kind == "confirm";
    append(std::move(record));
    if (again) {
      --again_under_way_;
      return;
    }
    ++result_.measured;
    const Trial trial = built.trial;
    ahead_->arrives(number, std::move(built));
    report(trial);
  }

  // Waits for a batch, which then decides. False when all of it stood in the log.
  bool count(size_t batch) {
    if (queue_) queue_->wait([&] { return !ahead_->under_way(batch); });
    std::vector<Trial> fresh;
    {
      const std::lock_guard lock(shared_);
      for (Ahead::Arrival& arrival : ahead_->take(batch)) {
        account_.note(arrival.built.trial, arrival.number);
        if (!arrival.measured) continue;
        fresh.push_back(arrival.built.trial);
        leaders_.keep(std::move(arrival.built));
      }
    }
    if (!fresh.empty() && options_.on_batch) options_.on_batch(fresh);
    return !fresh.empty();
  }

  // Boards drift: the records of one candidate say how far.
  void time_incumbent_again() {
    if (options_.confirm == 0 || stopping()) return;
    for (const Trial* incumbent : fastest(result_.trials, 1)) begin_again(*incumbent);
  }

  void begin_again(const Trial& leader) {
    Built built = leaders_.again(leader, *measurer_);
    ++again_under_way_;
    Record record = record_of("confirm", built.trial, std::ssize(result_.trials));
    begin_run(std::move(record), std::move(built), 0);
  }

  Record record_of(const std::string& kind, const Trial& trial, int64_t number) {
    Record record;
    record.kind = kind;
    record.key = key_of(task_, where_);
    record.name = task_.name();
    record.args = task_.args();
    record.flops = arithmetic_of(task_.outputs());
    record.bytes = measurer_->argument_bytes();
    record.trial = trial;
    record.number = number;
    record.pruned = static_cast<int64_t>(proposer_.pruned());
    record.seed = options_.seed;
    record.lag = ahead_ ? 1 : 0;
    if (const auto rates = where_.rates.find(task_.target().abilities.vector_bits); rates != where_.rates.end())
      record.rates = rates->second;
    if (kind == "trial") {
      if (const Description* d = proposer_.description_of(trial.index)) record.features = d->features;
    }
    return record;
  }

  void append(Record record) {
    if (journal_) journal_->append(record);
    if (record.kind == "confirm") confirmed_.push_back(std::move(record));
  }

  // What has arrived is shown, also where it doesn't count yet.
  void report(const Trial& current) {
    const std::vector<Trial> arrived = ahead_ ? ahead_->trials() : std::vector<Trial>();
    watched_.show(current, result_, arrived, where_, runner_ ? runner_->state() : "");
  }

  void wait_for_those_again() {
    if (queue_) queue_->wait([&] { return again_under_way_ == 0; });
  }

  void confirm_leaders() {
    wait_for_those_again();
    const std::vector<const Trial*> leaders = fastest(result_.trials, static_cast<size_t>(options_.confirm));
    for (;;) {
      const std::vector<const Trial*> round = next_round(leaders, confirmed_);
      if (round.empty()) return;
      for (const Trial* leader : round) {
        if (stopping()) return;
        measurer();
        if (ahead_) {
          begin_again(*leader);
          continue;
        }
        Built& built = leaders_.again(*leader, *measurer_);
        if (built.ok()) measurer_->run(built, 0);
        if (measurer_->stopped()) return;
        append(record_of("confirm", built.trial, std::ssize(result_.trials)));
      }
      wait_for_those_again();
      if (measurer_->stopped()) return;
    }
  }

  void keep_model() {
    if (options_.model_file.empty()) return;
    tell_all();
    const std::string bytes = proposer_.model_bytes();
    if (!bytes.empty()) write_model_file(options_.model_file, bytes);
  }

  void take_notes() {
    if (options_.model == "auto" && !has_xgboost())
      result_.note = "this build has no learned model (TW_XGBOOST=OFF); the prior alone ranked";
    if (log_.damaged == 0) return;
    result_.note +=
        (result_.note.empty() ? "" : "; ") + std::to_string(log_.damaged) + " damaged lines of the log were skipped";
  }

  void pick_best() {
    result_.best = winner(result_.trials, confirmed_);
    if (!result_.best && !result_.stopped && begun_) every_candidate_failed();
  }

  [[noreturn]] void nothing_to_pack() const {
    if (result_.trials.empty()) every_candidate_failed();
    tune_error("there is nothing left to pack: the log has all " + std::to_string(result_.trials.size()) +
               " candidates that are worth a run");
  }

  [[noreturn]] void every_candidate_failed() const {
    autotune::every_candidate_failed(task_, result_, refusals_, proposer_.refused());
  }

  const Task& task_;
  const TuneOptions& options_;
  runtime::Runner* runner_;  // null until something is measured here
  const bool elsewhere_;
  std::unique_ptr<runtime::Runner> local_;
  MachineDescription where_;
  Machine machine_;
  Proposer proposer_;
  std::optional<Journal> journal_;
  Log log_;
  std::map<std::string, int> refusals_;
  std::unordered_map<uint64_t, Candidate> prepared_;  // proposed by the batch at hand
  TuneResult result_;
  Account account_{result_};
  std::vector<Record> confirmed_;
  Leaders leaders_{options_.confirm};
  Watched watched_{task_, options_};
  size_t told_ = 0;
  bool begun_ = false;  // candidates were asked for
  std::unique_ptr<Measurer> measurer_;
  std::unique_ptr<StopWatch> watch_;  // after the measurer, which it stops

  // Where runs are elsewhere.
  std::unique_ptr<Ahead> ahead_;         // null where they are not
  size_t next_ = 0, counted_ = 0;        // batches: the next to begin, and how many count
  std::vector<uint64_t> last_proposal_;  // of the batch before the next
  std::atomic<int> again_under_way_ = 0;
  std::mutex shared_;                // what arrives is noted, and what counts
  std::unique_ptr<RunQueue> queue_;  // last: its threads use the others
};

}  // namespace

std::unique_ptr<Tuning> start_tuning(const Task& task, const TuneOptions& options, runtime::Runner* runner) {
  check_options(options);
  return std::make_unique<Tuner>(task, options, runner, nullptr);
}

std::unique_ptr<Tuning> start_packing(const Task& task, const TuneOptions& options, const MachineDescription& where) {
  check_options(options);
  return std::make_unique<Tuner>(task, options, nullptr, &where);
}

namespace {

TuneResult tune_to_the_end(const Task& task, const TuneOptions& options, runtime::Runner* runner) {
  const std::unique_ptr<Tuning> tuning = start_tuning(task, options, runner);
  tuning->begin();
  const auto left = [&] { return options.trials - tuning->begun(); };
  while (left() > 0 && tuning->step(left())) continue;
  return tuning->finish();
}

}  // namespace

TuneResult tune(const Task& task, const TuneOptions& options, runtime::Runner& runner) {
  return tune_to_the_end(task, options, &runner);
}

TuneResult tune(const Task& task, const TuneOptions& options) { return tune_to_the_end(task, options, nullptr); }

}  // namespace tw::autotune
