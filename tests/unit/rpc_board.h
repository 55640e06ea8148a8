// A machine that measures nothing and does what a test says; and a task for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rpc/board/job_queue.h"
#include "src/runtime/arguments.h"

namespace tw::rpc::test {

// What the Runners of one board have in common.
struct Bench {
  std::mutex mutex;
  std::condition_variable wake;
  bool held = false;             // runs wait until it is false or they are cancelled
  std::vector<std::string> ran;  // objects
  runtime::RunStatus status = runtime::RunStatus::kOk;

  void hold(bool on) {
    const std::lock_guard lock(mutex);
    held = on;
    wake.notify_all();
  }
  std::vector<std::string> so_far() {
    const std::lock_guard lock(mutex);
    return ran;
  }
  // Whether so many runs have begun, within 10 s.
  bool begun(size_t runs) {
    std::unique_lock lock(mutex);
    return wake.wait_for(lock, std::chrono::seconds(10), [&] { return ran.size() >= runs; });
  }
};

class StubRunner final : public runtime::Runner {
 public:
  explicit StubRunner(Bench& bench) : bench_(bench) {}
  runtime::RunResult run(const runtime::RunRequest& request) override {
    std::unique_lock lock(bench_.mutex);
    bench_.ran.emplace_back(request.object.bytes());
    bench_.wake.notify_all();
    bench_.wake.wait(lock, [&] { return cancelled_ || !bench_.held; });
    runtime::RunResult result;
    result.status = cancelled_ ? runtime::RunStatus::kDeviceLost : bench_.status;
    result.detail = cancelled_ ? "cancelled" : "";
    result.seconds = result.status == runtime::RunStatus::kOk ? 1e-3 : 0;
    result.runs = 5;
    return result;
  }
  MachineDescription machine() const override {
    return {.hardware = {.cpu_model = "stub", .cores = 2}, .threads = 2, .name = "a stub"};
  }
  void cancel() override {
    const std::lock_guard lock(bench_.mutex);
    cancelled_ = true;
    bench_.wake.notify_all();
  }

 private:
  Bench& bench_;
  bool cancelled_ = false;
};

inline JobQueue::MakeRunner stub_runners(Bench& bench) {
  return [&bench] { return std::make_unique<StubRunner>(bench); };
}

// Always as cool as before.
inline Heat cool(const std::function<bool(double)>& sleep) {
  return Heat({[](int) { return 2e9; }, sleep});
}

// B = A, of eight floats.
inline Checks copy_task() {
  const auto arg = [](const char* name, bool written) {
    return runtime::ArgSpec{.name = name, .dtype = ir::Type::f(32), .shape = {8}, .strides = {}, .written = written};
  };
  Checks checks;
  checks.target = "llvm";
  checks.kernel = "candidate";
  checks.args = {arg("A", false), arg("B", true)};
  checks.rtol = {0, 0};
  checks.reference = Blob(std::string(runtime::argument_offsets(checks.args).back(), '\0'));
  return checks;
}

}  // namespace tw::rpc::test
