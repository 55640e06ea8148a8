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

[[noreturn]] void measure(int channel, const RunRequest& request, Device& device, const Seal& seal) try {
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
  _exit(0);  // destructors would walk over what the candidate may have damaged
} catch (const DeviceLost& lost) {
  send_message(channel, encode(Answer::kResult, {RunStatus::kDeviceLost, 0, 0, 0, lost.what()}));
  _exit(0);
} catch (const Error& error) {
  send_message(channel, encode(Answer::kResult, {RunStatus::kCrashed, 0, 0, 0, error.what()}));
  _exit(0);
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
  const std::optional<RunRequest> request = decode_run_request(std::move(message));
  if (!request || !sound(*request)) {
    std::fprintf(stderr, "malformed request\n");
    return kWorkerFault;
  }
  const std::unique_ptr<Device> device = make_device(*request);
  if (policy.on_device) measure(channel, *request, *device, [] { return std::string(); });
  if (!policy.confined) serve_run(channel, *request, *device);
  measure(channel, *request, *device, [&] {
    layers.push_back(seal(Talk::kTells));
    return lacking(layers, policy.required);
  });
}

}  // namespace

void serve_run(int channel, const RunRequest& request, Device& device) {
  forbid_new_processes();
  measure(channel, request, device, [] { return std::string(); });
}

int run_worker(int channel, const MakeDevice& make_device, const WorkerPolicy& policy) try {
  return serve(channel, make_device, policy);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return kWorkerFault;
}

}  // namespace tw::runtime
