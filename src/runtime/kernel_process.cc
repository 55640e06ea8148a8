#include "src/runtime/kernel_process.h"

#include <csignal>
#include <utility>

#include "src/runtime/sandbox.h"
#include "src/runtime/timing.h"
#include "src/support/subprocess.h"
#include "src/support/within.h"

namespace tw::runtime {
namespace {

constexpr double kStartS = 60, kEndingS = 1, kGraceS = 0.05, kAtOnceS = 10;

[[noreturn]] void gone(const std::string& how) {
  throw Error(Diagnostic{ErrorKind::kTune, "the kernel " + how, {}, {"it is gone: load it again"}});
}

}  // namespace

KernelProcess::KernelProcess(WorkerCommand command) : command_(std::move(command)) {}
KernelProcess::~KernelProcess() = default;

void KernelProcess::load(const LoadKernel& load) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) gone("was ended before it was loaded");
    process_ = std::make_shared<support::Subprocess>(support::Command{command_.path, command_.args, 0, 0});
  }
  summary_ = ask(load, kStartS).loaded.value_or(KernelSummary{});
}

std::vector<double> KernelProcess::call(const CallKernel& request, const Memories& memories, double timeout_s) {
  const std::lock_guard lock(one_at_a_time_);
  for (const uint64_t memory : take_forgotten())
    if (shared_.erase(memory) > 0) ask(ForgetMemory{memory}, kAtOnceS);
  for (const auto& [number, memory] : memories) {
    if (shared_.contains(number)) continue;
    ask(ShareMemory{number, memory->size()}, kAtOnceS, memory->descriptor());
    shared_.insert(number);
  }
  return ask(request, timeout_s).runs;
}

void KernelProcess::forget(uint64_t memory) {
  const std::lock_guard lock(mutex_);
  forgotten_.push_back(memory);
}

std::vector<uint64_t> KernelProcess::take_forgotten() {
  const std::lock_guard lock(mutex_);
  return std::exchange(forgotten_, {});
}

void KernelProcess::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  if (process_) process_->kill();
}

std::shared_ptr<support::Subprocess> KernelProcess::process() {
  const std::lock_guard lock(mutex_);
  return process_;
}

KernelAnswer KernelProcess::ask(const KernelRequest& request, double timeout_s, int descriptor) {
  const std::shared_ptr<support::Subprocess> process = this->process();
  if (!process) gone("crashed before");
  const bool sent = send_message(process->channel(), encode(request, descriptor));
  ReceivedMessage message;
  const Received received =
      sent ? receive_message(process->channel(), seconds_now() + timeout_s, message) : Received::kClosed;
  std::optional<KernelAnswer> answer;
  if (received == Received::kFrame) answer = decode_kernel_answer(message);
  if (answer && answer->refused) throw Error(*answer->refused);
  if (answer) return *std::move(answer);
  {
    const std::lock_guard lock(mutex_);
    process_.reset();
  }
  if (received == Received::kDeadline) {
    process->terminate(kGraceS);
    gone("did not return " + support::within(timeout_s));
  }
  if (received != Received::kClosed) gone("corrupted the process that ran it");
  const support::ExitStatus status = process->wait(kEndingS);
  if (status.signal == SIGSYS) gone(std::string(kTriedUnneededCall));
  gone("crashed: " + to_string(status));
}

}  // namespace tw::runtime
