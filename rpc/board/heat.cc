#include "rpc/board/heat.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include "src/runtime/thread_pool.h"
#include "src/target/busy_clock.h"

namespace tw::rpc {
namespace {

using runtime::RunResult;
using runtime::RunStatus;

constexpr double kSlower = 0.97;  // than the session's, and what is timed does not count
constexpr int kLooks = 8;         // a sixth of a millisecond
constexpr int kManyLooks = 512;   // ten: longer than another process keeps the core
constexpr double kFreshS = 2e-3;  // a look after one timing is the look before the next
constexpr int kAttempts = 3;
constexpr double kCoolingS = 2;  // at most, until the clock is what it was
constexpr double kLookAgainS = 0.05;
constexpr double kRestS = 4;                          // all of it: its second half says what the clock is without heat
constexpr int kTurnsOfWork = 40, kLooksOfWork = 256;  // 5 ms each
constexpr int kLooksToRaise = 64;
constexpr double kForgetS = 10;  // without work a board may cool as it could not in a rest

// Of short looks, sorted: the slowest at which nobody else had the core, as far as a tenth of them tells.
double without_interruptions(const std::vector<double>& sorted) { return sorted[sorted.size() / 10]; }

// This thread on one core; and where it was.
class OnCore {
 public:
  explicit OnCore(int core) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OnCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_ = {};
};

double hottest(const std::string& root) {
  double celsius = 0, thousandths = 0;
  std::error_code none;
  using Folder = std::filesystem::directory_iterator;
  for (Folder zone(root + "/sys/class/thermal", none), end; zone != end; zone.increment(none))
    if (zone->path().filename().string().starts_with("thermal_zone") &&
        std::ifstream(zone->path() / "temp") >> thousandths)
      celsius = std::max(celsius, thousandths / 1e3);
  return celsius;
}

std::string governor(const std::string& root, int core) {
  std::string name;
  std::ifstream(root + "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor") >> name;
  return name;
}

}  // namespace

Heat::Machine Heat::this_machine(std::function<bool(double seconds)> sleep) {
  const auto hertz = [](int looks) {
    const OnCore core(runtime::cores_to_measure_on()[0]);
    return target::clock_now(looks);
  };
  const auto work = [] {
    std::vector<std::jthread> busy;
    for (const int core : runtime::cores_to_measure_on())
      busy.emplace_back([core] {
        const OnCore here(core);
        target::clock_now(kLooksOfWork);
      });
  };
  return {hertz, std::move(sleep), work};
}

Heat::Machine Heat::unknown() {
  return {.hertz = [](int) { return 0.0; }, .sleep = [](double) { return false; }, .root = "/dev/null"};
}

void Heat::begin_session() {
  reference_ = hertz_ = machine_.hertz(kManyLooks);
  work_a_little();
}

void Heat::work_a_little() {
  std::vector<double> clocks;
  for (int turn = 0; turn < kTurnsOfWork; ++turn) {
    machine_.work();
    clocks.push_back(machine_.hertz(kLooks));
  }
  looked_at_ = machine_.now();
  std::ranges::sort(clocks);
  const double slowest = without_interruptions(clocks), fastest = clocks.back();
  reference_ = std::max(reference_, fastest);
  cool_ = slowest < kSlower * fastest ? slowest : std::numeric_limits<double>::infinity();
}

bool Heat::slow(double hertz) const { return hertz < kSlower * std::min(reference_, cool_); }

// A core that others want looks slow to a short look, so a slow one is looked at for longer.
bool Heat::is_slow() {
  hertz_ = 0;
  for (int looks = kLooks; looks <= kManyLooks; looks *= 4) {
    hertz_ = std::max(hertz_, machine_.hertz(looks));
    if (!slow(hertz_)) break;
  }
  reference_ = std::max(reference_, hertz_);
  looked_at_ = machine_.now();
  raise();
  return slow(hertz_);
}

// A board that was hot as the session began is held to more once it can do more.
void Heat::raise() {
  slowest_lately_ = std::min(slowest_lately_, hertz_);
  if (++looks_lately_ < kLooksToRaise) return;
  cool_ = std::max(cool_, slowest_lately_);
  slowest_lately_ = std::numeric_limits<double>::infinity();
  looks_lately_ = 0;
}

bool Heat::looked_just_now() const { return !slow(hertz_) && machine_.now() - looked_at_ < kFreshS; }

// What was slow for a moment costs a moment.
bool Heat::recover(bool first) {
  if (first) {
    for (double waited = 0; waited < kCoolingS; waited += kLookAgainS) {
      if (!machine_.sleep(kLookAgainS)) return false;
      if (!is_slow()) return true;
    }
  }
  return rest();
}

bool Heat::rest() {
  std::vector<double> third, last;  // quarters
  for (double waited = 0; waited < kRestS; waited += kLookAgainS) {
    if (!machine_.sleep(kLookAgainS)) return false;
    hertz_ = machine_.hertz(kLooks);
    reference_ = std::max(reference_, hertz_);
    if (waited >= kRestS / 2) (waited < 0.75 * kRestS ? third : last).push_back(hertz_);
  }
  looked_at_ = machine_.now();
  const bool still_cools = std::ranges::max(third) < kSlower * std::ranges::max(last);
  third.insert(third.end(), last.begin(), last.end());
  std::ranges::sort(third);
  if (!still_cools) cool_ = std::min(cool_, without_interruptions(third));
  return true;
}

Heat::Timed Heat::timed(const std::function<RunResult()>& run) {
  if (worked_at_ > 0 && machine_.now() - worked_at_ > kForgetS) work_a_little();
  Timed timed;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0 && !recover(attempt == 1)) break;
    const bool slow_before = !looked_just_now() && is_slow();
    timed.result = run();
    worked_at_ = machine_.now();
    const bool slow_after = is_slow();
    timed.state = {hertz_, hottest(machine_.root), governor(machine_.root, runtime::cores_to_measure_on()[0])};
    const bool has_time = timed.result.status == RunStatus::kOk || timed.result.status == RunStatus::kBeaten;
    timed.throttled = (slow_before || slow_after) && has_time;
    if (!timed.throttled) break;
  }
  return timed;
}

}  // namespace tw::rpc
