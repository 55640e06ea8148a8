#include "src/runtime/builder.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>

#include "src/runtime/timing.h"
#include "src/runtime/tool_path.h"
#include "src/support/in_parallel.h"
#include "src/support/subprocess.h"
#include "src/support/within.h"

namespace tw::runtime {
namespace {

constexpr int kAttempts = 3;           // of a build whose worker was lost
constexpr int kBuildsPerWorker = 400;  // compilers leak; a fresh process now and then costs nothing
constexpr double kGraceS = 0.05, kEndingS = 1;
constexpr uint64_t kMemoryBytes = uint64_t{8} << 30;  // a compile that wants more is a candidate gone wrong

uint64_t memory_limit() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  return kMemoryBytes;
#endif
}

BuildResult ended(BuildStatus status, std::string message) { return {status, std::move(message), 0, 0, 0}; }

}  // namespace

struct LocalBuilder::Worker {
  explicit Worker(const std::string& program) : process({program, {"--serve"}, memory_limit(), 0}) {}
  support::Subprocess process;
  int builds = 0;
};

std::string_view to_string(BuildStatus status) {
  constexpr std::string_view kNames[] = {"ok", "build_failed", "build_crashed", "build_timeout", "build_lost"};
  return kNames[static_cast<size_t>(status)];
}

LocalBuilder::LocalBuilder() : program_(tool_path("tw-worker-build", "TW_WORKER_BUILD")) {}
LocalBuilder::~LocalBuilder() = default;

int LocalBuilder::slots() const { return static_cast<int>(support::threads_for_work()); }

void LocalBuilder::cancel() {
  cancelled_.store(true);
  std::lock_guard lock(mutex_);
  for (Worker* worker : busy_) worker->process.kill();
}

std::unique_ptr<LocalBuilder::Worker> LocalBuilder::borrow() {
  std::unique_ptr<Worker> worker;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      worker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!worker) worker = std::make_unique<Worker>(program_);
  std::lock_guard lock(mutex_);
  busy_.push_back(worker.get());
  if (cancelled_) worker->process.kill();
  return worker;
}

BuildResult LocalBuilder::build(const BuildRequest& request, double timeout_s) {
  const double start = seconds_now();
  BuildResult result = ended(BuildStatus::kLost, "cancelled");
  bool lost = true;
  for (int i = 0; i < kAttempts && lost && !cancelled_; ++i) {
    lost = false;
    result = attempt(request, timeout_s, lost);
  }
  if (lost && cancelled_) result = ended(BuildStatus::kLost, "cancelled");
  result.seconds = seconds_now() - start;
  return result;
}

BuildResult LocalBuilder::attempt(const BuildRequest& request, double timeout_s, bool& lost) try {
  std::unique_ptr<Worker> worker = borrow();
  struct Return {
    LocalBuilder& self;
    Worker* worker;
    ~Return() {
      std::lock_guard lock(self.mutex_);
      std::erase(self.busy_, worker);
    }
  };
  BuildResult result;
  {
    const Return when_done{*this, worker.get()};
    result = converse(*worker, request, timeout_s, lost);
  }
  const bool alive = !lost && (result.status == BuildStatus::kOk || result.status == BuildStatus::kFailed);
  if (!alive || ++worker->builds >= kBuildsPerWorker) return result;
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  return result;
} catch (const std::system_error& e) {
  throw Error(Diagnostic{ErrorKind::kTune, std::string("building: a worker process: ") + e.what(), {}, {}});
}

BuildResult LocalBuilder::converse(Worker& worker, const BuildRequest& request, double timeout_s, bool& lost) {
  support::Subprocess& process = worker.process;
  send_frame(process.channel(), encode(request));
  std::string bytes;
  const Received received = receive_frame(process.channel(), seconds_now() + timeout_s, bytes);
  if (received == Received::kDeadline) {
    process.terminate(kGraceS);
    return ended(BuildStatus::kTimeout, "did not end " + support::within(timeout_s));
  }
  const std::optional<BuildReply> reply = received == Received::kFrame ? decode_build_reply(bytes) : std::nullopt;
  if (reply) {
    return {reply->ok ? BuildStatus::kOk : BuildStatus::kFailed,
            reply->message,
            0,
            reply->llvm_s,
            reply->link_s,
            reply->unfit};
  }
  const support::ExitStatus status = process.wait(kEndingS);
  lost = !status.known || status.ours || status.signal == SIGKILL || status.signal == SIGTERM ||
         status.signal == SIGINT || status.signal == SIGHUP;
  const std::string text = process.error_text();
  return ended(lost ? BuildStatus::kLost : BuildStatus::kCrashed,
               "the compiler ended: " + to_string(status) + (text.empty() ? "" : ": " + text));
}

int serve_builds(int argc, char** argv, const std::function<BuildReply(const BuildRequest&)>& build) {
  if (argc != 2 || std::strcmp(argv[1], "--serve") != 0) {
    std::fprintf(stderr, "tw-worker-build is started by Tensorwright's tuner, not by hand\n");
    return 2;
  }
  std::string bytes;
  while (receive_frame(support::kChannel, std::numeric_limits<double>::infinity(), bytes) == Received::kFrame) {
    const std::optional<BuildRequest> request = decode_build_request(bytes);
    if (!request) return 3;
    BuildReply reply;
    try {
      reply = build(*request);
    } catch (const std::exception& e) {
      reply.message = e.what();
    }
    if (!send_frame(support::kChannel, encode(reply))) return 0;
  }
  return 0;
}

}  // namespace tw::runtime
