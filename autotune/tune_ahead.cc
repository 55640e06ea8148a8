// Batches that run elsewhere while the next is built here (ahead.h).
#include <algorithm>

#include "autotune/tuning_loop.h"
#include "src/runtime/rounds.h"

namespace tw::autotune {

namespace {

constexpr size_t kIncumbentEvery = 32;  // trials

}  // namespace

// Builds and begins the next batch while the last one runs, then waits for that. False as next_batch.
bool Tuner::next_batch_ahead(size_t room) {
  if (ahead_->complete(next_)) {
    go_ahead(ahead_->indices(next_));
    return true;
  }
  tell_all();
  std::vector<uint64_t> proposal = proposals_.propose(static_cast<size_t>(options_.batch), next_, last_proposal_);
  watched_.pruned = static_cast<int>(proposals_.proposer().pruned());
  if (proposal.empty() || sees_no_gain()) return false;
  const std::vector<size_t> missing = missing_of(proposal, room);
  if (missing.empty()) return false;
  begin_runs(proposal, missing);
  for (const uint64_t known : ahead_->indices(next_)) proposal.push_back(known);
  go_ahead(std::move(proposal));
  return !measurer_->stopped();
}

void Tuner::go_ahead(std::vector<uint64_t> proposal) {
  last_proposal_ = std::move(proposal);
  ++next_;
  while (counted_ + 1 < next_) {
    const size_t before = result_.trials.size();
    const bool fresh = count(counted_++);
    if (fresh && result_.trials.size() / kIncumbentEvery > before / kIncumbentEvery) time_incumbent_again();
  }
}

// Places in the proposal of what has not been measured, as many as the batch lacks.
std::vector<size_t> Tuner::missing_of(const std::vector<uint64_t>& proposal, size_t room) const {
  room = std::min(static_cast<size_t>(options_.batch) - ahead_->arrived(next_), room);
  std::vector<size_t> missing;
  for (size_t place = 0; place < proposal.size() && missing.size() < room; ++place)
    if (!ahead_->has(proposal[place])) missing.push_back(place);
  return missing;
}

void Tuner::begin_runs(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing) {
  std::vector<uint64_t> indices;
  for (const size_t place : missing) indices.push_back(proposal[place]);
  std::vector<Built> built = measurer().build(proposals_.take(indices));
  for (size_t i = 0; i < built.size() && !measurer_->stopped(); ++i) {
    const int64_t number = ahead_->begin(next_, missing[i]);
    const double limit = give_up_ahead();
    Record record = record_of("trial", built[i].trial, number);
    begin_run(std::move(record), std::move(built[i]), limit);
    if (limit == 0) queue_->wait([&] { return !ahead_->under_way(next_); });  // whether the next one has a limit
  }
}

// As Account::give_up_above, one batch late.
double Tuner::give_up_ahead() const { return runtime::give_up_above(account_.best_seconds(), ahead_->first_time()); }

// The record is whole but for the result, which comes to another thread.
void Tuner::begin_run(Record record, Built built, double limit) {
  if (!queue_) queue_ = std::make_unique<RunQueue>(*measurer_, runner_->slots());
  queue_->add(std::move(built), limit, [this, record = std::move(record)](Built arrived) mutable {
    record.trial = arrived.trial;
    arrives(std::move(record), std::move(arrived));
  });
}

// In the log at once, wherever it comes from.
void Tuner::arrives(Record record, Built built) {
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
bool Tuner::count(size_t batch) {
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

}  // namespace tw::autotune
