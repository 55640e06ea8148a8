#include "rpc/board/device.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "src/runtime/local_runner.h"
#include "src/runtime/messages.h"
#include "src/runtime/timing.h"
#include "src/support/json_text.h"
#include "src/support/release.h"
#include "src/support/subprocess.h"
#include "src/target/cuda.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;
using runtime::Received;

constexpr double kAnswerS = 60;  // drivers take seconds to begin

MachineDescription machine_of(const BoardDevice& device) {
  MachineDescription machine;
  machine.hardware.cores = 1;
  machine.name = device.hardware;
  return machine;
}

class RunnerOnDevice final : public runtime::Runner {
 public:
  RunnerOnDevice(const BoardDevice& device, const std::string& worker)
      : device_(device), runner_({.path = worker, .args = {kServeDevice}, .on_device = true}) {}
  runtime::RunResult run(const runtime::RunRequest& request) override { return runner_.run(request); }
  MachineDescription machine() const override { return machine_of(device_); }
  std::string why_not(const Target& target) const override {
    return target::cuda::why_not_on(target::cuda::architecture_in(device_.target), target);
  }
  void cancel() override { runner_.cancel(); }

 private:
  const BoardDevice device_;
  runtime::LocalRunner runner_;
};

[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

BoardDevice device_from(const std::string& text, const std::string& worker) try {
  const Json json = support::parse_json<Json>(text);
  if (json.contains("error"))
    refuse(ErrorKind::kTarget, json["error"].get<std::string>(), json.at("notes").get<std::vector<std::string>>());
  if (const auto release = json.at("release").get<std::string>(); release != support::kRelease)
    refuse(ErrorKind::kArgument,
           "--worker " + worker + " is of release " + release + ", and tw-board of " + support::kRelease,
           {"use both of one release"});
  return {json.at("hardware").get<std::string>(), json.at("target").get<std::string>()};
} catch (const Json::exception&) {
  refuse(ErrorKind::kArgument, "what --worker " + worker + " says of its device makes no sense");
}

}  // namespace

std::optional<BoardDevice> device_of(const std::string& worker) try {
  support::Subprocess asked({worker, {kDescribeDevice}});
  runtime::ReceivedMessage said;
  const Received received = runtime::receive_message(asked.channel(), runtime::seconds_now() + kAnswerS, said);
  if (received == Received::kFrame) return device_from(said.bytes, worker);
  if (received == Received::kDeadline) refuse(ErrorKind::kArgument, "--worker " + worker + " does not answer");
  return std::nullopt;
} catch (const std::system_error& e) {
  refuse(ErrorKind::kArgument, "--worker " + worker + " cannot be started: " + e.code().message());
}

int describe_device(int channel, const std::function<BoardDevice()>& find) {
  Json said;
  try {
    const BoardDevice device = find();
    said = {{"release", support::kRelease}, {"hardware", device.hardware}, {"target", device.target}};
  } catch (const Error& error) {
    said = {{"error", error.diagnostic().what}, {"notes", error.diagnostic().notes}};
  }
  return runtime::send_message(channel, runtime::Message{support::to_printable_text(said)}) ? 0 : 1;
}

std::unique_ptr<runtime::Runner> runner_on(const BoardDevice& device, const std::string& worker) {
  return std::make_unique<RunnerOnDevice>(device, worker);
}

BoardDescription with_device(BoardDescription board, const BoardDevice& device) {
  board.machine = machine_of(device);
  board.target = device.target;
  for (runtime::Layer& layer : board.sandbox) layer.why_not = "a GPU's driver needs what it would forbid";
  return board;
}

}  // namespace tw::rpc
