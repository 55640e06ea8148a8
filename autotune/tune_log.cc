// What a tuning reads from its log, and writes to it.
#include <set>

#include "autotune/log/history.h"
#include "autotune/model/features.h"
#include "autotune/tuning_loop.h"
#include "codegen/calibration.h"

namespace tw::autotune {

namespace {

// Those of a merged log, or of one that is no tuning's, have no meaning together.
bool numbers_are_of_one_tuning(const std::vector<std::pair<int64_t, Trial>>& trials, size_t batch) {
  const auto most = static_cast<int64_t>(2 * (trials.size() + batch));
  std::set<int64_t> numbers;
  for (const auto& [number, trial] : trials)
    if (number >= 0 && number < most) numbers.insert(number);
  return numbers.size() == trials.size();
}

}  // namespace

// Those that the log was begun with, so that what comes is what would have come. Another machine's Runner brings its
// own.
void Tuner::find_rates() {
  const RecordKey key = key_of(task_, where_);
  const int bits = task_.target().abilities.vector_bits;
  for (const Record& r : log_.records)
    if (r.key == key && r.rates) {
      where_.rates[bits] = *r.rates;
      return;
    }
  if (runner_ == nullptr && !elsewhere_) where_ = codegen::calibrated(std::move(where_), task_.target());
}

void Tuner::read_history() {
  Known known = known_trials(std::move(log_.records), task_, where_);
  confirmed_ = std::move(known.confirmed);
  if (!ahead_) {
    for (auto& [number, trial] : known.trials) {
      begin_anchor({trial, {}, 0}, true);
      account_.note(std::move(trial), number);
    }
    return;
  }
  const bool gave_them = numbers_are_of_one_tuning(known.trials, static_cast<size_t>(options_.batch));
  for (size_t i = 0; i < known.trials.size(); ++i)
    ahead_->read(gave_them ? known.trials[i].first : static_cast<int64_t>(i), std::move(known.trials[i].second));
}

Record Tuner::record_of(const std::string& kind, const Trial& trial, int64_t number) {
  Record record;
  record.kind = kind;
  record.key = key_of(task_, where_);
  record.name = task_.name();
  record.args = task_.args();
  record.flops = arithmetic_of(task_.outputs());
  record.bytes = measurer_->argument_bytes();
  record.trial = trial;
  record.number = number;
  record.pruned = static_cast<int64_t>(proposals_.proposer().pruned());
  record.seed = options_.seed;
  record.lag = ahead_ ? 1 : 0;
  if (const auto rates = where_.rates.find(task_.target().abilities.vector_bits); rates != where_.rates.end())
    record.rates = rates->second;
  if (kind == "trial") {
    if (const Description* d = proposals_.proposer().description_of(trial.index)) record.features = d->features;
  }
  return record;
}

void Tuner::append(Record record) {
  if (journal_) journal_->append(record);
  if (record.kind == "confirm") confirmed_.push_back(std::move(record));
}

// What has arrived is shown, also where it doesn't count yet.
void Tuner::report(const Trial& current) {
  const std::vector<Trial> arrived = ahead_ ? ahead_->trials() : std::vector<Trial>();
  watched_.show(current, result_, arrived, where_, runner_ ? runner_->state() : "");
}

}  // namespace tw::autotune
