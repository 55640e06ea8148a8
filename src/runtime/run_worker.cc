#include "src/runtime/run_worker.h"

#include <unistd.h>

#include <cstdio>
#include <limits>

#include "src/runtime/arguments.h"
#include "src/runtime/measurement.h"
#include "src/runtime/messages.h"
#include "src/runtime/sandbox.h"

namespace tw::runtime {
namespace {

bool sound(const RunRequest& request) {
  const size_t args = request.args.size(), bytes = argument_offsets(request.args).back();
  return request.inputs.size() == bytes && (!request.reference || request.reference->size() == bytes) &&
         request.rtol.size() == args && request.atol.size() == args && request.threads >= 1;
}

int serve(int channel, const MakeDevice& make_device) {
  ReceivedMessage message;
  if (receive_message(channel, std::numeric_limits<double>::infinity(), message) != Received::kFrame) return 0;
  const std::optional<RunRequest> request = decode_run_request(std::move(message));
  if (!request || !sound(*request)) {
    std::fprintf(stderr, "malformed request\n");
    return kWorkerFault;
  }
  serve_run(channel, *request, *make_device(*request));
}

}  // namespace

void serve_run(int channel, const RunRequest& request, Device& device) {
  const auto say = [&](Answer answer, const RunResult& result) { send_message(channel, encode(answer, result)); };
  Measurement measurement(request, device);
  forbid_new_processes();
  say(Answer::kStarted, measurement.result());
  if (measurement.load() && measurement.prepare() && measurement.check_first_run()) {
    say(Answer::kChecked, measurement.result());
    measurement.finish();
  }
  say(Answer::kResult, measurement.result());
  _exit(0);  // destructors would walk over what the candidate may have damaged
}

int run_worker(int channel, const MakeDevice& make_device) try {
  return serve(channel, make_device);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return kWorkerFault;
}

}  // namespace tw::runtime
