#include "python/bind/runners.h"

#include <fcntl.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "codegen/files.h"
#include "src/runtime/messages.h"
#include "src/runtime/timing.h"
#include "src/support/temporary_folder.h"
#include "src/target/cpu.h"
#include "tensorwright/machine.h"
#include "tensorwright/rpc_runner.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using Answered = std::pair<py::bytes, std::vector<py::bytes>>;

// As if it had come from a process of this machine.
runtime::ReceivedMessage received(const py::bytes& fields, const std::vector<py::bytes>& blobs) {
  runtime::ReceivedMessage message{std::string(std::string_view(fields)), {}};
  for (const py::bytes& bytes : blobs) {
    const Blob blob{std::string_view(bytes)};
    message.blobs.emplace_back(fcntl(blob.descriptor(), F_DUPFD_CLOEXEC, 0));
  }
  return message;
}

[[noreturn]] void refuse_request(const std::string& what) {
  throw Error(Diagnostic{ErrorKind::kTune,
                         "the request to " + what + " a candidate cannot be read",
                         {},
                         {"both sides must have the same build of Tensorwright"}});
}

// Measured by a worker of this process's machine, who checks what it computes.
Answered run_request(const py::bytes& fields, const std::vector<py::bytes>& blobs) {
  const auto request = runtime::decode_run_request(received(fields, blobs));
  if (!request) refuse_request("measure");
  const runtime::Message answer = [&] {
    const py::gil_scoped_release release;
    return encode(runtime::Answer::kResult, runtime::LocalRunner().run(*request));
  }();
  Answered answered{py::bytes(answer.bytes), {}};
  for (const Blob& blob : answer.blobs) answered.second.emplace_back(blob.bytes());
  return answered;
}

// The status, what it says, seconds of LLVM and of linking, and the object.
using BuiltObject = std::tuple<int, std::string, double, double, py::bytes>;

// Compiled by a worker of this process's machine; they are kept.
BuiltObject build_object(const py::bytes& fields, double timeout_s) {
  static runtime::LocalBuilder builder;
  auto request = runtime::decode_build_request(std::string_view(fields));
  if (!request) refuse_request("build");
  Blob object;
  const runtime::BuildResult result = [&] {
    const py::gil_scoped_release release;
    const support::TemporaryFolder folder("tensorwright");
    request->out_path = folder / "object.so";
    runtime::BuildResult built = builder.build(*request, timeout_s);
    if (built.ok()) object = Blob::read(request->out_path);
    return built;
  }();
  return {static_cast<int>(result.status), result.message, result.llvm_s, result.link_s, py::bytes(object.bytes())};
}

}  // namespace

PythonRunner::PythonRunner(py::object run, std::string description)
    : run_(std::move(run)), description_(std::move(description)) {}

runtime::RunResult PythonRunner::run(const runtime::RunRequest& request) {
  runtime::RunRequest once = request;
  once.number = once.repeat = 1;
  once.give_up_above_s = 0;
  const runtime::RunResult checked = local_.run(once);
  if (checked.status != runtime::RunStatus::kOk) return checked;
  auto [seconds, failure] = asked(request);
  if (!failure.empty() || seconds.empty()) return {runtime::RunStatus::kCrashed, 0, 0, 0, failure};
  const double median = runtime::median(seconds);
  const auto [least, most] = std::ranges::minmax(seconds);
  return {runtime::RunStatus::kOk, median, (most - least) / median, static_cast<int>(seconds.size()), ""};
}

MachineDescription PythonRunner::machine() const {
  MachineDescription machine = runtime::this_machine();
  machine.name = description_;
  return machine;
}

std::pair<std::vector<double>, std::string> PythonRunner::asked(const runtime::RunRequest& request) const {
  const support::TemporaryFolder folder("tensorwright");
  const std::string path = folder / (std::to_string(request.candidate) + ".so");
  codegen::write_file(path, request.object.bytes());
  const py::gil_scoped_acquire gil;
  return run_(request.candidate, path).cast<std::pair<std::vector<double>, std::string>>();
}

runtime::BuildResult ServedBuilder::build(const runtime::BuildRequest& request, double timeout_s) {
  const double start = runtime::seconds_now();
  const py::gil_scoped_acquire gil;
  const py::object said = server_.attr("build")(py::bytes(runtime::encode(request)), timeout_s);
  if (py::isinstance<py::str>(said)) return {runtime::BuildStatus::kLost, said.cast<std::string>(), 0, 0, 0};
  const auto [status, message, llvm_s, link_s, object] = said.cast<BuiltObject>();
  const runtime::BuildResult result{static_cast<runtime::BuildStatus>(status), message, runtime::seconds_now() - start,
                                    llvm_s, link_s};
  if (result.ok()) codegen::write_file(request.out_path, std::string_view(object));
  return result;
}

void ServedBuilder::cancel() {
  const py::gil_scoped_acquire gil;
  server_.attr("cancel")();
}

ServedRunner::ServedRunner(py::object server)
    : server_(std::move(server)),
      machine_(server_.attr("machine").cast<MachineDescription>()),
      slots_(server_.attr("slots").cast<int>()),
      builder_([this]() -> std::unique_ptr<ServedBuilder> {
        const int builders = server_.attr("builders").cast<int>();
        return builders > 0 ? std::make_unique<ServedBuilder>(server_, builders) : nullptr;
      }()) {}

runtime::RunResult ServedRunner::run(const runtime::RunRequest& request) {
  const runtime::Message asked = runtime::encode(request);
  const py::gil_scoped_acquire gil;
  std::vector<py::bytes> blobs;
  for (const Blob& blob : asked.blobs)
    blobs.push_back(blob.data() == request.object.data() ? py::bytes(blob.bytes()) : as_bytes(blob));
  const py::object said = server_.attr("run")(py::bytes(asked.bytes), blobs);
  if (py::isinstance<py::str>(said)) return {runtime::RunStatus::kDeviceLost, 0, 0, 0, said.cast<std::string>()};
  const auto [fields, outputs] = said.cast<Answered>();
  const auto answer = decode_answer(received(fields, outputs), request.inputs.size());
  if (!answer)
    throw Error(Diagnostic{ErrorKind::kTune, "the answer of a measurement elsewhere cannot be read", {}, {}});
  return answer->second;
}

py::bytes ServedRunner::as_bytes(const Blob& blob) {
  constexpr size_t kMost = 8;
  for (const auto& [known, bytes] : known_)
    if (known.data() == blob.data()) return bytes;
  known_.emplace_front(blob, blob.bytes());
  if (known_.size() > kMost) known_.pop_back();
  return known_.front().second;
}

std::string ServedRunner::why_not(const Target& target) const {
  const py::gil_scoped_acquire gil;
  return server_.attr("why_not")(target.to_string()).cast<std::string>();
}

void ServedRunner::cancel() {
  const py::gil_scoped_acquire gil;
  server_.attr("cancel")();
}

void bind_runners(py::module_& m) {
  py::class_<runtime::Runner, std::shared_ptr<runtime::Runner>>(m, "Runner");
  py::class_<PythonRunner, runtime::Runner, std::shared_ptr<PythonRunner>>(m, "PythonRunner")
      .def(py::init<py::object, std::string>());
  py::class_<ServedRunner, runtime::Runner, std::shared_ptr<ServedRunner>>(m, "ServedRunner")
      .def(py::init<py::object>());
  py::class_<rpc::RPCRunner, runtime::Runner, std::shared_ptr<rpc::RPCRunner>>(m, "RPCRunner")
      .def(py::init([](std::vector<std::string> boards, std::string key, std::string host, int port, std::string secret,
                       int priority, double session_timeout) {
             const py::gil_scoped_release release;
             return std::make_shared<rpc::RPCRunner>(rpc::RPCRunnerOptions{std::move(boards), std::move(key),
                                                                           std::move(host), port, std::move(secret),
                                                                           priority, session_timeout});
           }),
           py::kw_only(), py::arg("boards"), py::arg("key"), py::arg("host"), py::arg("port"), py::arg("secret"),
           py::arg("priority"), py::arg("session_timeout"))
      .def_property_readonly("machine", &rpc::RPCRunner::machine)
      .def_property_readonly("target", &rpc::RPCRunner::target)
      .def_property_readonly("state", &rpc::RPCRunner::state);
  m.def("run_request", &run_request);
  m.def("build_object", &build_object);
  m.def("this_machine", &runtime::this_machine);
  m.def("why_not_here", [](const std::string& text) {
    const Result<Target> target = Target::parse(text);
    return target.ok() ? target::why_not_on(target::host_cpu(), *target) : target.error().what;
  });
}

}  // namespace tw::bind
