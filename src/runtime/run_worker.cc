#include "src/runtime/run_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <limits>

#include "src/runtime/arguments.h"
#include "src/runtime/confinement.h"
#include "src/runtime/held_inputs.h"
#include "src/runtime/measurement.h"
#include "src/runtime/messages.h"
#include "src/runtime/sandbox.h"
#include "src/runtime/thread_pool.h"
#include "src/target/cpu.h"

namespace tw::runtime {
namespace {

bool sound(const RunRequest& request) {
  const size_t args = request.args.size(), bytes = argument_offsets(request.args).back();
  return request.inputs.size() == bytes && (!request.reference || request.reference->size() == bytes) &&
         request.rtol.size() == args && request.atol.size() == args && request.threads >= 1;
}

constexpr int kAnswered = 71;  // the exit code once the result has been sent; a candidate that exits with it is late

struct Measuring {
  // Called between the load of a candidate and the first of its code: why that must not run, or "".
  std::function<std::string()> seal = [] { return std::string(); };
  bool on_device = false;
  std::vector<Uploaded> uploaded = {};  // the inputs, where they are there already
};

// Returns where a worker may serve another candidate, and that of a device; the process ends otherwise: destructors
// would walk over what the candidate may have damaged.
void measure(int channel, const RunRequest& request, Device& device, Measuring how) {
  const auto say = [&](Answer answer, const RunResult& result) { send_message(channel, encode(answer, result)); };
  Measurement measurement(request, device, std::move(how.uploaded));
  say(Answer::kStarted, measurement.result());
  if (measurement.load()) {
    if (const std::string why = how.seal(); !why.empty()) {
      say(Answer::kResult, {RunStatus::kDeviceLost, 0, 0, 0, "the sandbox lacks " + why});
      _exit(kAnswered);
    }
    if (measurement.prepare() && measurement.check_first_run()) {
      say(Answer::kChecked, measurement.result());
      measurement.finish();
    }
  }
  say(Answer::kResult, measurement.result());
  if (!how.on_device || !may_serve_on(measurement.result())) _exit(kAnswered);
}

std::optional<RunRequest> sound_request(ReceivedMessage&& message) {
  std::optional<RunRequest> request = decode_run_request(std::move(message));
  if (request && sound(*request)) return request;
  std::fprintf(stderr, "malformed request\n");
  return std::nullopt;
}

// One candidate after the other, as long as nothing is wrong with any: they are out of reach of this process, and a
// device takes longer to be had than most of them to be measured.
int serve_device(int channel, const MakeDevice& make_device) {
  ReceivedMessage message;
  while (receive_message(channel, std::numeric_limits<double>::infinity(), message) == Received::kFrame) {
    const std::optional<RunRequest> request = sound_request(std::move(message));
    if (!request) return kWorkerFault;
    std::unique_ptr<Device> device;
    const auto give_up = [&](RunStatus status, const char* why) {
      send_message(channel, encode(Answer::kResult, {status, 0, 0, 0, why}));
      _exit(0);
    };
    try {
      device = make_device(*request);
      measure(channel, *request, *device, {.on_device = true});
    } catch (const DeviceLost& lost) {
      give_up(RunStatus::kDeviceLost, lost.what());
    } catch (const Error& error) {
      if (!device) throw;
      give_up(RunStatus::kCrashed, error.what());
    }
    message = {};
  }
  return 0;
}

// As the child ended, so that whoever started this process sees how.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

void empty_error_text() {
  if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
}

// Each candidate in a child, where inputs, libraries and what is known of this CPU are already: a new process takes
// longer to have them than most candidates to run.
int serve_children(int channel, const MakeDevice& make_device) {
  target::host_cpu();
  cores_to_measure_on();
  HeldInputs inputs;
  ReceivedMessage message;
  while (receive_message(channel, std::numeric_limits<double>::infinity(), message) == Received::kFrame) {
    const std::optional<RunRequest> request = sound_request(std::move(message));
    if (!request) return kWorkerFault;
    inputs.hold(*request);
    empty_error_text();
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
      std::perror("fork");
      return kWorkerFault;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kWorkerFault);
      const std::unique_ptr<Device> device = make_device(*request);
      serve_run(channel, *request, *device, inputs.take());
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR) return kWorkerFault;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != kAnswered) end_like(status);
    message = {};
  }
  return 0;
}

int serve_confined(int channel, const MakeDevice& make_device, const WorkerPolicy& policy) {
  target::host_cpu();  // both look into files, and make calls, that are gone afterwards
  cores_to_measure_on();
  std::vector<Layer> layers = confine();
  ReceivedMessage message;
  if (receive_message(channel, std::numeric_limits<double>::infinity(), message) != Received::kFrame) return 0;
  const std::optional<RunRequest> request = sound_request(std::move(message));
  if (!request) return kWorkerFault;
  const std::unique_ptr<Device> device = make_device(*request);
  const auto sealed = [&] {
    layers.push_back(seal(Talk::kTells));
    return lacking(layers, policy.required);
  };
  measure(channel, *request, *device, {.seal = sealed});
  return 0;
}

}  // namespace

bool may_serve_on(const RunResult& result) {
  return result.status == RunStatus::kOk || result.status == RunStatus::kBeaten;
}

void serve_run(int channel, const RunRequest& request, Device& device, std::vector<Uploaded> uploaded) {
  forbid_new_processes();
  measure(channel, request, device, {.uploaded = std::move(uploaded)});
  _exit(kAnswered);
}

int run_worker(int channel, const MakeDevice& make_device, const WorkerPolicy& policy) try {
  if (policy.on_device) return serve_device(channel, make_device);
  return policy.confined ? serve_confined(channel, make_device, policy) : serve_children(channel, make_device);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return kWorkerFault;
}

}  // namespace tw::runtime
