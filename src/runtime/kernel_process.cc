#include "src/runtime/kernel_process.h"

#include <csignal>

#include "src/runtime/sandbox.h"
#include "src/runtime/timing.h"
#include "src/support/subprocess.h"

namespace tw::runtime {
namespace {

constexpr double kStartS = 60, kEndingS = 1, kGraceS = 0.05, kAtOnceS = 10;

[[noreturn]] void gone(const std::string& how) {
  throw Error(Diagnostic{ErrorKind::kTune, "the kernel " + how, {}, {"it is gone: load it again"}});
}

}  // namespace

KernelProcess::KernelProcess(const WorkerCommand& command, const LoadKernel& load)
    : process_(std::make_unique<support::Subprocess>(support::Command{command.path, command.args, 0, 0})) {
  summary_ = ask(load, kStartS).loaded.value_or(KernelSummary{});
}

KernelProcess::~KernelProcess() = default;

std::vector<double> KernelProcess::call(const CallKernel& request, const Memories& memories, double timeout_s) {
  const std::lock_guard lock(one_at_a_time_);
  for (const auto& [number, memory] : memories)
    if (shared_.insert(number).second) ask(ShareMemory{number, memory->size()}, kAtOnceS, memory->descriptor());
  return ask(request, timeout_s).runs;
}

void KernelProcess::forget(uint64_t memory) {
  const std::lock_guard lock(one_at_a_time_);
  if (process_ && shared_.erase(memory) > 0) ask(ForgetMemory{memory}, kAtOnceS);
}

KernelAnswer KernelProcess::ask(const KernelRequest& request, double timeout_s, int descriptor) {
  if (!process_) gone("crashed before");
  const bool sent = send_message(process_->channel(), encode(request, descriptor));
  ReceivedMessage message;
  const Received received =
      sent ? receive_message(process_->channel(), seconds_now() + timeout_s, message) : Received::kClosed;
  std::optional<KernelAnswer> answer;
  if (received == Received::kFrame) answer = decode_kernel_answer(message);
  if (answer && answer->refused) throw Error(*answer->refused);
  if (answer) return *std::move(answer);
  const std::unique_ptr<support::Subprocess> process = std::move(process_);
  if (received == Received::kDeadline) {
    process->terminate(kGraceS);
    gone("did not return within " + std::to_string(timeout_s) + " s");
  }
  if (received != Received::kClosed) gone("corrupted the process that ran it");
  const support::ExitStatus status = process->wait(kEndingS);
  if (status.signal == SIGSYS) gone(std::string(kTriedUnneededCall));
  gone("crashed: " + to_string(status));
}

}  // namespace tw::runtime
