#include "rpc/board/heat.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

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
constexpr double kRestS = 4;     // all of it: its second half says what the clock is without heat
constexpr double kLookAgainS = 0.05;
constexpr double kForgetS = 10;  // without work a board may cool as it could not in a rest
constexpr int kMostZones = 64;

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
  for (int zone = 0; zone < kMostZones; ++zone) {
    std::ifstream file(root + "/sys/class/thermal/thermal_zone" + std::to_string(zone) + "/temp");
    if (!file.is_open()) break;
    if (file >> thousandths) celsius = std::max(celsius, thousandths / 1e3);
  }
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
  return {hertz, std::move(sleep)};
}

Heat::Machine Heat::unknown() {
  return {[](int) { return 0.0; }, [](double) { return false; }, "/dev/null"};
}

void Heat::begin_session() {
  reference_ = hertz_ = machine_.hertz(kManyLooks);
  looked_at_ = machine_.now();
  at_rest_ = std::numeric_limits<double>::infinity();
}

bool Heat::slow(double hertz) const { return hertz < kSlower * std::min(reference_, at_rest_); }

// A core that others want looks slow to a short look.
bool Heat::is_slow() {
  hertz_ = machine_.hertz(kLooks);
  if (slow(hertz_)) hertz_ = std::max(hertz_, machine_.hertz(kManyLooks));
  reference_ = std::max(reference_, hertz_);
  looked_at_ = machine_.now();
  return slow(hertz_);
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
  double third_quarter = 0, slowest = std::numeric_limits<double>::infinity(), last_quarter = 0;
  for (double waited = 0; waited < kRestS; waited += kLookAgainS) {
    if (!machine_.sleep(kLookAgainS)) return false;
    is_slow();
    if (waited < kRestS / 2) continue;
    slowest = std::min(slowest, hertz_);
    double& fastest = waited < 0.75 * kRestS ? third_quarter : last_quarter;
    fastest = std::max(fastest, hertz_);
  }
  const bool still_cools = third_quarter < kSlower * last_quarter;
  if (!still_cools) at_rest_ = std::min(at_rest_, slowest);
  return true;
}

Heat::Timed Heat::timed(const std::function<RunResult()>& run) {
  if (machine_.now() - worked_at_ > kForgetS) at_rest_ = std::numeric_limits<double>::infinity();
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
