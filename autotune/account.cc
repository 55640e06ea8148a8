#include "autotune/account.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/runtime/rounds.h"

namespace tw::autotune {

void Account::note(Trial trial, int64_t number) {
  numbers_.push_back(number);
  if (trial.ok() && trial.seconds < best_seconds_) {
    best_seconds_ = trial.seconds;
    best_at_ = result_.trials.size();
  }
  if (!trial.timed()) result_.failures.push_back(trial);
  result_.curve.push_back(best_seconds_);
  result_.trials.push_back(std::move(trial));
}

void Account::put_in_order(size_t first) {
  const auto from = static_cast<std::ptrdiff_t>(first);
  if (std::is_sorted(numbers_.begin() + from, numbers_.end())) return;
  std::vector<size_t> order(numbers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin() + from, order.end(), [&](size_t a, size_t b) { return numbers_[a] < numbers_[b]; });
  const std::vector<Trial> trials = std::exchange(result_.trials, {});
  const std::vector<int64_t> numbers = std::exchange(numbers_, {});
  result_.failures.clear();
  result_.curve.clear();
  best_seconds_ = INFINITY;
  best_at_ = 0;
  for (const size_t i : order) note(trials[i], numbers[i]);
}

double Account::give_up_above(size_t first) const {
  const auto begin = result_.trials.begin() + static_cast<std::ptrdiff_t>(first);
  double best = INFINITY;
  for (auto t = result_.trials.begin(); t != begin; ++t)
    if (t->ok()) best = std::min(best, t->seconds);
  const auto timed = std::find_if(begin, result_.trials.end(), [](const Trial& t) { return t.ok(); });
  return runtime::give_up_above(best, timed == result_.trials.end() ? 0 : timed->seconds);
}

}  // namespace tw::autotune
