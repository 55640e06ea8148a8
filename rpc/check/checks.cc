#include "rpc/check/checks.h"

#include <unistd.h>

#include <algorithm>

#include "rpc/check/native_target.h"
#include "src/runtime/arguments.h"
#include "src/runtime/compare.h"
#include "src/runtime/inputs.h"
#include "src/runtime/run_result.h"
#include "src/target/cpu.h"

namespace tw::rpc {
namespace {

using runtime::ArgSpec;
using runtime::RunRequest;
using runtime::RunResult;

constexpr int64_t kMostElements = int64_t{1} << 40;     // of an argument
constexpr double kReferenceTimes = 30;                  // a candidate's deadline, for the reference
constexpr double kStartS = 5, kSecondsPerByte = 50e-9;  // to make inputs

[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

// ------------------------------------------------------------------------------------------------ what nobody sends

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

// Shapes and strides that no release writes would overflow where memory is counted.
std::string unsound(const ArgSpec& spec) {
  const bool strided = !spec.strides.empty();
  if (strided && spec.strides.size() != spec.shape.size()) return "strides of another rank";
  double elements = 1, reach = 1;
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    const int64_t extent = spec.shape[d], stride = strided ? spec.strides[d] : 0;
    if (extent < 0 || stride < 0) return "a negative extent or stride";
    elements *= static_cast<double>(std::max<int64_t>(1, extent));  // also beside an empty one
    reach += static_cast<double>(extent) * static_cast<double>(stride);
  }
  if (elements > kMostElements || reach > kMostElements) return "an argument of too many elements";
  if (spec.range && spec.range->first > spec.range->second) return "a range without values";
  return {};
}

// ------------------------------------------------------------------------------------------------------- this machine

void require_code_runs(const Checks& checks, const runtime::Runner& runner) {
  if (is_for_gpu(checks)) {
    const Target gpu = target::parse_on(target::host_cpu(), checks.target).value_or_throw();
    if (const std::string why = runner.why_not(gpu); !why.empty())
      refuse(ErrorKind::kTarget, "this machine can't run code for " + checks.target,
             {why, "tw-measure runs it where such a GPU is"});
    return;
  }
  if (checks.triple.empty()) return;
  Target target;
  target.kind = "llvm";
  target.triple = checks.triple;
  target.features = checks.features;
  target.sve_bits = checks.sve_bits;
  if (const std::string why = runner.why_not(target); !why.empty())
    refuse(ErrorKind::kTarget, "this machine can't run code for " + checks.target,
           {why, "use target=\"" + native_target() + "\""});
}

void require_machine(const Checks& checks, const MachineDescription& here) {
  if (!checks.hardware.empty() && checks.hardware != here.hardware_name())
    refuse(ErrorKind::kTune, "the candidates go on with the records of another machine",
           {"theirs: " + checks.hardware, "here: " + here.hardware_name(), "go on with a log of this machine"});
  if (checks.threads > here.hardware.cores)
    refuse(ErrorKind::kTune,
           "the candidates are for " + std::to_string(checks.threads) + " threads, and this machine has " +
               std::to_string(here.hardware.cores) + " cores",
           {"use threads=" + std::to_string(here.hardware.cores)});
}

double bytes_of(const std::vector<ArgSpec>& args) {
  double bytes = 0;
  for (const ArgSpec& spec : args) bytes += static_cast<double>(spec.bytes());
  return bytes;
}

// ------------------------------------------------------------------------------------------------------ the reference

// The default schedule's outputs, once they have the elements that are known.
Blob made_reference(const Checks& checks, RunRequest request, runtime::Runner& runner) {
  request.object = checks.made_reference->object;
  request.timeout_s = kReferenceTimes * checks.timeout_s;
  const RunResult result = runner.run(request);
  if (!result.outputs)
    refuse(ErrorKind::kTune, "the default schedule fails on this machine: " + std::string(to_string(result.status)),
           {runtime::one_line(result.detail)});
  const std::vector<size_t> offsets = runtime::argument_offsets(checks.args);
  for (const runtime::Probe& probe : checks.made_reference->probes) {
    const size_t a = probe.argument;
    const auto* contents = static_cast<const std::byte*>(result.outputs->data()) + offsets[a];
    const double rtol = checks.rtol[a], atol = runtime::absolute_tolerance(checks.args[a], contents, rtol);
    const std::string why = runtime::wrong_element(checks.args[a], contents, probe.element, probe.expected, rtol, atol);
    if (!why.empty()) refuse(ErrorKind::kTune, "the default schedule gives a wrong result on this machine", {why});
  }
  return *result.outputs;
}

std::vector<double> absolute_tolerances(const Checks& checks, const Blob& reference) {
  std::vector<double> atol(checks.args.size());
  const std::vector<size_t> offsets = runtime::argument_offsets(checks.args);
  for (size_t a = 0; a < checks.args.size(); ++a)
    if (checks.args[a].written)
      atol[a] = runtime::absolute_tolerance(checks.args[a], static_cast<const char*>(reference.data()) + offsets[a],
                                            checks.rtol[a]);
  return atol;
}

}  // namespace

bool is_for_gpu(const Checks& checks) { return checks.target.starts_with("cuda "); }

std::string unsound_arguments(const Checks& checks) {
  for (const ArgSpec& spec : checks.args)
    if (std::string why = unsound(spec); !why.empty()) return why;
  if (checks.args.empty()) return "no arguments";
  return checks.rtol.size() == checks.args.size() ? "" : "tolerances of other arguments";
}

std::string unsound(const Checks& checks) {
  if (std::string why = unsound_arguments(checks); !why.empty()) return why;
  if (checks.threads < 0 || checks.number < 0 || checks.repeat < 0 || !(checks.timeout_s > 0))
    return "limits without a meaning";
  const size_t bytes = runtime::argument_offsets(checks.args).back();
  if (checks.inputs && checks.inputs->size() != bytes) return "inputs of another size";
  if (checks.reference.has_value() == checks.made_reference.has_value()) return "none or two references";
  if (checks.reference && checks.reference->size() != bytes) return "a reference of another size";
  const auto outside = [&](const runtime::Probe& p) {
    return p.argument >= checks.args.size() || p.element < 0 || p.element >= count_of(checks.args[p.argument].shape);
  };
  if (checks.made_reference && std::ranges::any_of(checks.made_reference->probes, outside))
    return "a probe outside of its argument";
  return {};
}

Checks checks_of(const RunRequest& request) {
  Checks checks;
  checks.threads = request.threads;
  checks.kernel = request.kernel;
  checks.args = request.args;
  checks.rtol = request.rtol;
  if (request.inputs_version != runtime::kInputsVersion) checks.inputs = request.inputs;
  checks.reference = request.reference;
  checks.made_reference = request.made_reference;
  checks.device_checks = request.device_checks;
  checks.timeout_s = request.timeout_s;
  checks.number = request.number;
  checks.repeat = request.repeat;
  return checks;
}

double seconds_for_request(const Checks& checks) {
  const double made = checks.made_reference ? 2 * kReferenceTimes * checks.timeout_s : 0;
  return kStartS + made + kSecondsPerByte * bytes_of(checks.args);
}

RunRequest request_here(const Checks& checks, runtime::Runner& runner) {
  const MachineDescription here = runner.machine();
  require_code_runs(checks, runner);
  require_machine(checks, here);
  runtime::require_memory(checks.args, runtime::kCopiesOfRun);
  RunRequest request;
  request.kernel = checks.kernel;
  request.args = checks.args;
  request.inputs = checks.inputs ? *checks.inputs : runtime::random_inputs(checks.args);
  request.inputs_version = checks.inputs ? 0 : runtime::kInputsVersion;
  request.rtol = checks.rtol;
  request.atol.resize(checks.args.size());
  request.threads = checks.threads > 0 ? checks.threads : here.hardware.cores;
  request.timeout_s = checks.timeout_s;
  request.reference = checks.reference ? *checks.reference : made_reference(checks, request, runner);
  request.atol = absolute_tolerances(checks, *request.reference);
  request.device_checks = checks.device_checks;
  request.number = checks.number;
  request.repeat = checks.repeat;
  return request;
}

}  // namespace tw::rpc
