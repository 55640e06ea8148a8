// Leaders are timed again: while boards drift, and before one of them wins.
#include "autotune/log/winner.h"
#include "autotune/tuning_loop.h"

namespace tw::autotune {

// Boards drift: the records of one candidate say how far.
void Tuner::time_incumbent_again() {
  if (options_.confirm == 0 || stopping()) return;
  for (const Trial* incumbent : fastest(result_.trials, 1)) begin_again(*incumbent);
}

void Tuner::begin_again(const Trial& leader) {
  Built built = leaders_.again(leader, *measurer_);
  ++again_under_way_;
  Record record = record_of("confirm", built.trial, std::ssize(result_.trials));
  begin_run(std::move(record), std::move(built), 0);
}

void Tuner::wait_for_those_again() {
  if (queue_) queue_->wait([&] { return again_under_way_ == 0; });
}

void Tuner::confirm_leaders() {
  wait_for_those_again();
  if (measurer_ && measurer_->stopped()) return;  // some may still arrive
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
      if (built.ok()) run_here(built, 0);
      if (measurer_->stopped()) return;
      append(record_of("confirm", built.trial, std::ssize(result_.trials)));
    }
    wait_for_those_again();
    if (measurer_->stopped()) return;
  }
}

}  // namespace tw::autotune
