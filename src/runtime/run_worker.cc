#include "src/runtime/run_worker.h"

#include <unistd.h>

#include <cstdio>
#include <limits>

#include "src/runtime/arguments.h"
#include "src/runtime/confinement.h"
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

// Called between the load of a candidate and the first of its code: why that must not run, or "".
using Seal = std::function<std::string()>;

// Returns where a worker may serve another candidate, and that of a device; the process ends otherwise: destructors
// would walk over what the candidate may have damaged.
void measure(int channel, const RunRequest& request, Device& device, const Seal& seal, bool on_device = false) {
  const auto say = [&](Answer answer, const RunResult& result) { send_message(channel, encode(answer, result)); };
  Measurement measurement(request, device);
  say(Answer::kStarted, measurement.result());
  if (measurement.load()) {
    if (const std::string why = seal(); !why.empty()) {
      say(Answer::kResult, {RunStatus::kDeviceLost, 0, 0, 0, "the sandbox lacks " + why});
      _exit(0);
    }
    if (measurement.prepare() && measurement.check_first_run()) {
      say(Answer::kChecked, measurement.result());
      measurement.finish();
    }
  }
  say(Answer::kResult, measurement.result());
  if (!on_device || !may_serve_on(measurement.result())) _exit(0);
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
      measure(channel, *request, *device, [] { return std::string(); }, true);
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

int serve(int channel, const MakeDevice& make_device, const WorkerPolicy& policy) {
  std::vector<Layer> layers;
  if (policy.confined) {
    target::host_cpu();  // both look into files, and make calls, that are gone afterwards
    cores_to_measure_on();
    layers = confine();
  }
  ReceivedMessage message;
  if (receive_message(channel, std::numeric_limits<double>::infinity(), message) != Received::kFrame) return 0;
  const std::optional<RunRequest> request = sound_request(std::move(message));
  if (!request) return kWorkerFault;
  const std::unique_ptr<Device> device = make_device(*request);
  if (!policy.confined) serve_run(channel, *request, *device);
  measure(channel, *request, *device, [&] {
    layers.push_back(seal(Talk::kTells));
    return lacking(layers, policy.required);
  });
  return 0;
}

}  // namespace

bool may_serve_on(const RunResult& result) {
  return result.status == RunStatus::kOk || result.status == RunStatus::kBeaten;
}

void serve_run(int channel, const RunRequest& request, Device& device) {
  forbid_new_processes();
  measure(channel, request, device, [] { return std::string(); });
  _exit(0);
}

int run_worker(int channel, const MakeDevice& make_device, const WorkerPolicy& policy) try {
  return policy.on_device ? serve_device(channel, make_device) : serve(channel, make_device, policy);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return kWorkerFault;
}

}  // namespace tw::runtime
