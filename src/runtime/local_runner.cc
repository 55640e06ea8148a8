#include "src/runtime/local_runner.h"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "src/runtime/kernel.h"
#include "src/runtime/messages.h"
#include "src/runtime/run_worker.h"
#include "src/runtime/sandbox.h"
#include "src/runtime/timing.h"
#include "src/runtime/tool_path.h"
#include "src/support/within.h"
#include "src/target/busy_clock.h"
#include "src/target/cpu.h"
#include "tensorwright/target.h"

namespace tw::runtime {
namespace {

constexpr int kAttempts = 3;         // of a run whose worker was lost
constexpr int kRunsOfAWorker = 100;  // what a driver leaks is gone then
constexpr double kStartupS = 60;     // for exec, threads and inputs, on a machine however busy
constexpr double kGraceS = 0.05;     // between SIGTERM and SIGKILL
constexpr double kEndingS = 1;       // between the end of the conversation and the end of the process
constexpr double kSlowTimes = 4;     // what is given up at, for a first run
constexpr double kLoadingS = 0.3, kSecondsPerByte = 4e-9;  // of what comes with a first run
constexpr uint64_t kRoomBytes = uint64_t{4} << 30;         // for scratch and stacks, besides the arguments
constexpr uint64_t kFileBytes = uint64_t{1} << 20;         // stderr is written to, and outputs that are asked for

uint64_t address_space_for(const RunRequest& request) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // their shadow memory is larger than any limit
#else
  uint64_t bytes = 0;
  for (const ArgSpec& spec : request.args) bytes += spec.bytes();
  return kRoomBytes + 4 * bytes;
#endif
}

// How long the first run may take, with loading and checking: one that is not right by then may be, but is far too
// slow.
double patience(const RunRequest& request) {
  if (request.give_up_above_s <= 0) return request.timeout_s;
  double bytes = 0;
  for (const ArgSpec& spec : request.args) bytes += static_cast<double>(spec.bytes());
  return std::min(request.timeout_s, kSlowTimes * request.give_up_above_s + kLoadingS + kSecondsPerByte * bytes);
}

RunResult ended(RunStatus status, std::string detail) { return {status, 0, 0, 0, std::move(detail)}; }

bool from_outside(int signal) { return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP; }

// Nothing where that fails: whoever wants it next starts it, or says why not.
std::unique_ptr<support::Subprocess> started_ahead(const support::Command& command) try {
  return std::make_unique<support::Subprocess>(command);
} catch (const std::system_error&) {
  return nullptr;
}

std::string with_error_text(std::string detail, const support::Subprocess& worker) {
  const std::string text = worker.error_text();
  return text.empty() ? detail : detail + ": " + text;
}

}  // namespace

LocalRunner::LocalRunner() : worker_{(require_measuring_allowed("tune"), tool_path("tw-worker", "TW_WORKER"))} {}
LocalRunner::LocalRunner(WorkerCommand worker) : worker_(std::move(worker)) {}
LocalRunner::~LocalRunner() = default;

std::string Runner::why_not(const Target& target) const { return target::why_not_on(target::host_cpu(), target); }

MachineDescription this_machine() {
  return {.hardware = host_hardware(), .threads = num_threads(), .clock = target::busy_clock()};
}

void LocalRunner::cancel() {
  cancelled_.store(true);
  std::lock_guard lock(current_mutex_);
  if (current_) current_->kill();
}

RunResult LocalRunner::run(const RunRequest& request) {
  require_measuring_allowed("tune");
  std::lock_guard one(one_run_);
  RunResult result;
  for (int i = 0; i < kAttempts; ++i) {
    if (cancelled_) return ended(RunStatus::kDeviceLost, "cancelled");
    bool lost = false;
    result = attempt(request, lost);
    if (!lost) return result;
  }
  return cancelled_ ? ended(RunStatus::kDeviceLost, "cancelled") : result;
}

support::Command LocalRunner::command_for(const RunRequest& request) const {
  support::Command command = {worker_.path, worker_.args};
  if (worker_.on_device) return command;
  command.address_space_bytes = address_space_for(request);
  command.file_bytes = kFileBytes + (request.reference ? 0 : request.inputs.size());
  return command;
}

std::unique_ptr<support::Subprocess> LocalRunner::begin(const support::Command& command) {
  std::unique_ptr<support::Subprocess> idle = std::exchange(idle_, nullptr);
  if (idle && idle_command_ == command) return idle;
  served_ = 0;
  return std::make_unique<support::Subprocess>(command);
}

RunResult LocalRunner::attempt(const RunRequest& request, bool& lost) try {
  support::Command command = command_for(request);
  std::unique_ptr<support::Subprocess> worker = begin(command);
  {
    std::lock_guard lock(current_mutex_);
    current_ = worker.get();
  }
  // Cancelling before the line above found nobody to kill.
  if (cancelled_) worker->kill();
  struct Leave {
    LocalRunner& self;
    ~Leave() {
      std::lock_guard lock(self.current_mutex_);
      self.current_ = nullptr;
    }
  };
  RunResult result;
  bool lives_on = false;
  {
    const Leave leave{*this};
    result = converse(*worker, request, lost, lives_on);
  }
  if (lives_on && ++served_ < kRunsOfAWorker) idle_ = std::move(worker);
  if (worker_.confined && !cancelled_) idle_ = started_ahead(command);
  idle_command_ = std::move(command);
  return result;
} catch (const std::system_error& e) {
  throw Error(Diagnostic{ErrorKind::kTune, std::string("measuring: a worker process: ") + e.what(), {}, {}});
}

RunResult LocalRunner::converse(support::Subprocess& worker, const RunRequest& request, bool& lost, bool& lives_on) {
  send_message(worker.channel(), encode(request));
  bool started = false, checked = false;
  double deadline = seconds_now() + kStartupS;
  ReceivedMessage message;
  for (;;) {
    const Received received = receive_message(worker.channel(), deadline, message);
    if (received == Received::kDeadline) {
      lost = !started;
      worker.terminate(kGraceS);
      if (started && !checked && patience(request) < request.timeout_s)
        return {RunStatus::kBeaten, request.give_up_above_s, 0, 0, "its first run was cut short"};
      return started ? ended(RunStatus::kTimeout, "did not end " + support::within(request.timeout_s))
                     : ended(RunStatus::kDeviceLost, "the worker did not start");
    }
    if (received == Received::kClosed) break;
    auto said = received == Received::kFrame ? decode_answer(std::move(message), request.inputs.size()) : std::nullopt;
    if (!said) return ended(RunStatus::kCrashed, "corrupted the process that ran it");
    if (said->first == Answer::kResult) {
      lost = worker_.on_device && said->second.status == RunStatus::kDeviceLost;
      lives_on = worker_.on_device ? may_serve_on(said->second) : !worker_.confined;
      return std::move(said->second);
    }
    started = true;
    checked = said->first == Answer::kChecked;
    deadline = seconds_now() + (checked ? request.timeout_s : patience(request));
  }
  const support::ExitStatus status = worker.wait(kEndingS);
  if (!started && status.signal == 0 && status.code == kWorkerFault)
    throw Error(
        Diagnostic{ErrorKind::kTune, with_error_text("measuring: a worker process could not begin", worker), {}, {}});
  lost = !started || status.ours || from_outside(status.signal);
  if (lost) return ended(RunStatus::kDeviceLost, with_error_text("the worker was lost: " + to_string(status), worker));
  if (status.signal == SIGSYS)
    return ended(RunStatus::kCrashed, std::string(worker_.confined ? kTriedUnneededCall : kTriedNewProcess));
  const std::string how = status.signal == 0 ? "ended without a result, " + to_string(status) : to_string(status);
  return ended(RunStatus::kCrashed, with_error_text(how, worker));
}

}  // namespace tw::runtime
