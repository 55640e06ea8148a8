#include "autotune/leaders.h"

#include <algorithm>

namespace tw::autotune {

void Leaders::keep(Built built) {
  if (!built.trial.ok()) return;
  fastest_.push_back(std::move(built));
  std::stable_sort(fastest_.begin(), fastest_.end(),
                   [](const Built& a, const Built& b) { return a.trial.seconds < b.trial.seconds; });
  if (fastest_.size() > count_) fastest_.pop_back();
}

Built& Leaders::again(const Trial& leader, Measurer& measurer) {
  for (Built& built : fastest_)
    if (built.trial.index == leader.index) return built;
  return fastest_.emplace_back(measurer.rebuild(leader));
}

}  // namespace tw::autotune
