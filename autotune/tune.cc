// How a tuning begins, goes on a batch at a time, and ends.
#include <cmath>
#include <string_view>

#include "autotune/log/history.h"
#include "autotune/log/winner.h"
#include "autotune/measure/here.h"
#include "autotune/no_result.h"
#include "autotune/space/knobs.h"
#include "autotune/tuning_loop.h"
#include "src/runtime/kernel.h"

namespace tw::autotune {

Tuner::Tuner(const Task& task, const TuneOptions& options, runtime::Runner* runner, const MachineDescription* elsewhere)
    : task_(task),
      options_(options),
      runner_(runner),
      elsewhere_(elsewhere != nullptr),
      where_(elsewhere ? *elsewhere
             : runner  ? runner->machine()
                       : machine_here(task.target())),
      proposals_(task, options, machine_),
      leaders_(options.confirm),
      watched_(task, options) {
  if (!options.log.empty() && !elsewhere_) journal_.emplace(options.log);
  if (!options.log.empty()) log_ = load_log(options.log, task.hash());
  find_rates();
  machine_ = schedule::describe_machine(task.target(), where_);
  if (runner != nullptr && (runner->elsewhere() || runner->slots() > 1))
    ahead_ = std::make_unique<Ahead>(static_cast<size_t>(options.batch));
}

void Tuner::begin() {
  watched_.begin();
  proposals_.start_from(options_);
  read_history();
  while (ahead_ && ahead_->complete(next_)) go_ahead(ahead_->indices(next_));
}

bool Tuner::step(int room) {
  begun_ = true;
  if (stopping() || exhausted_early()) return false;
  return ahead_ ? next_batch_ahead(static_cast<size_t>(room)) : next_batch(static_cast<size_t>(room));
}

int Tuner::begun() const { return static_cast<int>(result_.trials.size() + (ahead_ ? ahead_->size() : 0)); }

bool Tuner::cut_off() const {
  return ahead_ ? ahead_->reaches(next_) : result_.trials.size() % static_cast<size_t>(options_.batch) != 0;
}

bool Tuner::stopping() {
  return (measurer_ && measurer_->stopped()) || (options_.should_stop && options_.should_stop());
}

// What is told decides, and nothing that was packed before and has not come back.
rpc::Pack Tuner::pack(int count) {
  tell_all();
  const auto batch = static_cast<size_t>(options_.batch);
  const std::vector<uint64_t> proposal = proposals_.propose(static_cast<size_t>(count), told_ / batch);
  if (proposal.empty()) nothing_to_pack();
  const std::vector<Built> built = measurer().build(proposals_.take(proposal));
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

TuneResult Tuner::finish() {
  while (ahead_ && (counted_ < next_ || ahead_->reaches(counted_))) count(counted_++);
  if (!stopping()) confirm_leaders();
  queue_.reset();  // nothing arrives from here on
  for (size_t late = 0; ahead_ && ahead_->reaches(late); ++late) count(late);
  result_.stopped = stopping();
  result_.elapsed_s = watched_.elapsed_s();
  result_.pruned = static_cast<int>(proposals_.proposer().pruned());
  result_.alike = static_cast<int>(proposals_.proposer().alike());
  keep_model();
  take_notes();
  pick_best();
  return std::move(result_);
}

bool Tuner::exhausted_early() const {
  return options_.early_stop > 0 && std::isfinite(account_.best_seconds()) &&
         account_.since_best() > static_cast<size_t>(options_.early_stop);
}

// Asked of a batch that was proposed and not yet measured.
bool Tuner::sees_no_gain() const {
  return options_.stop_without_gain && proposals_.proposer().expects_no_gain() &&
         std::isfinite(account_.best_seconds()) && account_.since_best() > 2 * static_cast<size_t>(options_.batch);
}

Measurer& Tuner::measurer() {
  if (measurer_) return *measurer_;
  runtime::require_measuring_allowed("tune");
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

void Tuner::tell_all() {
  for (; told_ < result_.trials.size(); ++told_) proposals_.tell(result_.trials[told_]);
}

void Tuner::keep_model() {
  if (options_.model_file.empty()) return;
  tell_all();
  const std::string bytes = proposals_.proposer().model_bytes();
  if (!bytes.empty()) write_model_file(options_.model_file, bytes);
}

void Tuner::take_notes() {
  if (options_.model == "auto" && !has_xgboost())
    result_.note = "this build has no learned model (TW_XGBOOST=OFF); the prior alone ranked";
  if (log_.damaged == 0) return;
  result_.note +=
      (result_.note.empty() ? "" : "; ") + std::to_string(log_.damaged) + " damaged lines of the log were skipped";
}

void Tuner::pick_best() {
  result_.best = winner(result_.trials, confirmed_);
  const bool tried = begun_ || !result_.trials.empty();  // now, or by the log before
  if (!result_.best && !result_.stopped && tried) every_candidate_failed();
}

void Tuner::nothing_to_pack() const {
  if (result_.trials.empty()) every_candidate_failed();
  tune_error("there is nothing left to pack: the log has all " + std::to_string(result_.trials.size()) +
             " candidates that are worth a run");
}

void Tuner::every_candidate_failed() const {
  autotune::every_candidate_failed(task_, result_, proposals_.refusals(), proposals_.proposer().refused());
}

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
