// Batches that this machine builds and measures in turn.
#include <algorithm>

#include "autotune/tuning_loop.h"

namespace tw::autotune {

// False when the space holds nothing more.
bool Tuner::next_batch(size_t room) {
  const size_t batch = static_cast<size_t>(options_.batch), number = result_.trials.size() / batch;
  for (; told_ < number * batch; ++told_) proposals_.tell(result_.trials[told_]);
  const std::vector<uint64_t> proposal = proposals_.propose(batch, number);
  watched_.pruned = static_cast<int>(proposals_.proposer().pruned());
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

void Tuner::measure(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing) {
  const size_t first = result_.trials.size();
  std::vector<uint64_t> indices;
  for (const size_t place : missing) indices.push_back(proposal[place]);
  std::vector<Built> built = measurer().build(proposals_.take(indices));
  for (size_t i = 0; i < built.size() && !exhausted_early() && !measurer_->stopped(); ++i) {
    if (built[i].ok()) run_here(built[i], account_.give_up_above(told_));
    if (measurer_->stopped()) break;
    begin_anchor(built[i], false);
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

}  // namespace tw::autotune
