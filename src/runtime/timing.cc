#include "src/runtime/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

constexpr int kFewestRepeats = 5;  // from which an interval is known
constexpr int kMostRepeats = 1000;
constexpr int kMostCalls = 1 << 20;

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

int calls_for(double one, double repeat_s) {
  return static_cast<int>(std::clamp(std::ceil(repeat_s / std::max(one, 1e-9)), 1.0, static_cast<double>(kMostCalls)));
}

// Whether an adaptive measurement that began `spent_s` ago has seen enough.
bool known(const Timing& timing, double spent_s, const TimingPolicy& policy) {
  const auto repeats = static_cast<int>(timing.runs.size());
  const auto slow = [&](double seconds) { return policy.slow_above_s > 0 && seconds > policy.slow_above_s; };
  if (repeats >= std::max(1, policy.fewest_repeats - 1) && std::all_of(timing.runs.begin(), timing.runs.end(), slow))
    return true;
  if (repeats >= policy.fewest_repeats && spent_s > policy.budget_s) return true;
  return repeats >= kFewestRepeats && median_uncertainty(timing.runs) < policy.tightness;
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void summarise(Timing& timing) {
  if (timing.runs.empty()) return;
  std::vector<double> sorted = timing.runs;
  std::sort(sorted.begin(), sorted.end());
  timing.median = quantile(sorted, 0.5);
  timing.spread = timing.median > 0 ? (quantile(sorted, 0.9) - quantile(sorted, 0.1)) / timing.median : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

double median_uncertainty(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  const double n = static_cast<double>(runs.size());
  // The ranks n/2 -+ 0.98 sqrt(n) bound the median with 95 % confidence (binomial, normal approximation).
  const double low = std::floor(n / 2 - 0.98 * std::sqrt(n)), high = std::ceil(n / 2 + 0.98 * std::sqrt(n));
  if (low < 0 || high > n - 1) return INFINITY;
  return (runs[static_cast<size_t>(high)] - runs[static_cast<size_t>(low)]) / 2 / quantile(runs, 0.5);
}

Timing measure(const TimedCalls& timed, double one, const TimingPolicy& policy) {
  const int number = policy.number > 0 ? policy.number : calls_for(one, policy.repeat_s);
  Timing timing;
  const double begin = seconds_now();
  for (int repeat = 0; repeat < (policy.repeat > 0 ? policy.repeat : kMostRepeats); ++repeat) {
    const double seconds = timed(number);
    if (seconds < 0) break;
    const double spent = seconds_now() - begin;
    timing.runs.push_back(seconds / number);
    if (spent > policy.stop_after_s) break;
    if (policy.repeat == 0 && known(timing, spent, policy)) break;
  }
  summarise(timing);
  return timing;
}

void check_timing(const TimingOptions& options) {
  require_measuring_allowed("time");
  const auto refuse = [](const std::string& what) { throw Error(Diagnostic{ErrorKind::kArgument, what, {}, {}}); };
  if (options.number < 0 || options.repeat < 1)
    refuse("time: number must not be negative and repeat must be positive, not " + std::to_string(options.number) +
           " and " + std::to_string(options.repeat));
  if (!(options.min_repeat_ms >= 0 && std::isfinite(options.min_repeat_ms)))
    refuse("time: min_repeat_ms must be a time of 0 or more, not " + std::to_string(options.min_repeat_ms));
}

Timing time(const Kernel& kernel, std::span<const ArrayView> views, const TimingOptions& options,
            std::span<const ScalarValue> scalars) {
  check_timing(options);
  BoundCall call = checked_call(kernel, views, scalars).value_or_throw();
  const std::vector<void*> data = addresses(views, call);
  const auto timed = [&](int calls) {
    const double start = seconds_now();
    for (int i = 0; i < calls; ++i)
      if (const int32_t code = kernel.run(data.data()); code != 0) throw_kernel_failed(kernel, code, data.data());
    return seconds_now() - start;
  };
  timed(1);
  TimingPolicy policy{.number = options.number, .repeat = options.repeat, .repeat_s = options.min_repeat_ms * 1e-3};
  return measure(timed, timed(1), policy);
}

}  // namespace tw::runtime
