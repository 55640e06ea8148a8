#include "tensorwright/rpc_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>

#include "rpc/check/checks.h"
#include "rpc/check/checks_text.h"
#include "rpc/check/outputs.h"
#include "rpc/client/boards.h"
#include "rpc/client/tracker_client.h"
#include "rpc/client/tracker_queries.h"
#include "src/runtime/inputs.h"
#include "src/runtime/run_result.h"
#include "src/support/json_text.h"
#include "src/target/cuda.h"
#include "src/target/triple.h"

namespace tw::rpc {

using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;

namespace {

constexpr size_t kTasksKept = 8;

[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

// ------------------------------------------------------------------------------------------------- which boards

std::vector<Connect> dialled(const RPCRunnerOptions& options, const std::optional<Secret>& secret) {
  std::vector<Endpoint> endpoints;
  std::map<std::string, int> of_host;
  for (const std::string& board : options.boards) {
    endpoints.push_back(parse_endpoint(board, "a board"));
    if (std::ranges::count(endpoints, endpoints.back()) > 1)
      refuse(ErrorKind::kArgument, "RPCRunner: the board " + board + " is named twice");
    ++of_host[endpoints.back().host];
  }
  std::vector<Connect> connects;
  for (const Endpoint& at : endpoints)
    connects.push_back(dial_board(of_host[at.host] > 1 ? to_string(at) : at.host, at, secret));
  return connects;
}

// As many as are free; where none is, the first that will be.
size_t free_boards(const TrackerAddress& tracker, const std::string& key) {
  const auto summary = support::parse_json<nlohmann::json>(tracker_summary(tracker.at, tracker.secret));
  const auto is_free = [&](const nlohmann::json& b) { return b.at("key") == key && b.at("status") == "free"; };
  return static_cast<size_t>(std::max<std::ptrdiff_t>(1, std::ranges::count_if(summary.at("boards"), is_free)));
}

std::vector<Connect> granted(const RPCRunnerOptions& options, const std::optional<Secret>& secret) {
  const TrackerAddress tracker{{options.host, static_cast<uint16_t>(options.port)}, secret};
  const WantedBoard wanted{.key = options.key, .priority = options.priority, .session_s = options.session_timeout_s};
  const Connect request = [=]() -> asio::awaitable<Reached> {
    const GrantedBoard board = co_await request_board(tracker, wanted);
    Reached reached{board.name, board.connection};
    co_return reached;
  };
  return std::vector<Connect>(free_boards(tracker, options.key), request);
}

std::vector<Connect> connects_of(const RPCRunnerOptions& options) {
  if (options.boards.empty() == options.key.empty())
    refuse(ErrorKind::kArgument, "RPCRunner: boards, or the key by which a tracker knows them, and not both",
           {"boards=[\"pi4-1:9090\"], or key=\"rpi4\", host=\"HOST\", port=9190"});
  if (!options.key.empty() && (options.host.empty() || options.port < 1 || options.port > 65535))
    refuse(ErrorKind::kArgument, "RPCRunner: with a key, host and port say where the tracker is");
  const std::optional<Secret> secret = secret_in(options.secret);
  return options.boards.empty() ? granted(options, secret) : dialled(options, secret);
}

// --------------------------------------------------------------------------------------------------- what is sent

// Blobs never change: the same memory is the same bytes.
bool same(const std::optional<Blob>& a, const std::optional<Blob>& b) {
  return a.has_value() == b.has_value() && (!a || a->data() == b->data());
}

bool same_blobs(const Checks& a, const Checks& b) {
  const auto made_by = [](const Checks& c) {
    return c.made_reference ? std::optional(c.made_reference->object) : std::nullopt;
  };
  return same(a.inputs, b.inputs) && same(a.reference, b.reference) && same(made_by(a), made_by(b)) &&
         same(a.device_checks, b.device_checks);
}

RemoteTask task_of(const Checks& checks) {
  RemoteTask task;
  task.spec.inputs_version = checks.inputs ? 0 : runtime::kInputsVersion;
  const auto carry = [&](const Blob& blob) { return task.parcels.emplace_back(parcel(blob)).digest; };
  if (checks.inputs) task.spec.inputs = carry(*checks.inputs);
  if (checks.reference) task.spec.reference = carry(outputs_of(checks.args, *checks.reference));
  if (checks.made_reference) task.spec.reference_object = carry(checks.made_reference->object);
  nlohmann::ordered_json json = to_json(checks);
  if (checks.device_checks.size() > 0) json["device_checks"] = to_hex(carry(checks.device_checks));
  task.spec.checks = support::to_text(json);
  task.name = sha256(encode(task.spec));
  return task;
}

RunResult result_of(const BoardResult& from, double lower_bound_s) {
  const JobResult& r = from.result;
  const RunStatus status = runtime::run_status(r.status).value_or(RunStatus::kDeviceLost);  // throttled: another time
  RunResult result{status, r.seconds, r.spread, static_cast<int>(r.runs), r.detail};
  const auto known = [](double value) { return std::isfinite(value) ? value : 0; };
  result.place = {from.board, known(r.hertz), known(r.celsius), r.governor};
  if (result.status == RunStatus::kOk && result.seconds > 0 && runtime::too_fast(result.seconds, lower_bound_s)) {
    result.status = RunStatus::kTooFast;
    result.detail = "the board reports " + std::to_string(r.seconds) + " s, and the work takes at least " +
                    std::to_string(lower_bound_s);
  }
  return result;
}

}  // namespace

struct RPCRunner::State {
  explicit State(const RPCRunnerOptions& options) : boards(connects_of(options)) {}

  // Candidates of one tuning have one, whose digests are made once.
  std::shared_ptr<const RemoteTask> task(const RunRequest& request) {
    const Checks checks = checks_of(request);
    const std::string text = support::to_text(to_json(checks));
    const std::lock_guard lock(mutex);
    for (const KnownTask& known : tasks)
      if (text == known.text && same_blobs(checks, known.checks)) return known.task;
    if (tasks.size() == kTasksKept) tasks.pop_back();
    tasks.push_front({text, checks, std::make_shared<const RemoteTask>(task_of(checks))});
    return tasks.front().task;
  }

  // A board has results of earlier runs, also another client's: each run is a measurement of its own.
  std::atomic<uint32_t> attempts = std::random_device()();
  std::mutex mutex;
  struct KnownTask {
    std::string text;  // of the checks, but for their blobs
    Checks checks;
    std::shared_ptr<const RemoteTask> task;
  };
  std::deque<KnownTask> tasks;  // the newest first
  Boards boards;
};

RPCRunner::RPCRunner(const RPCRunnerOptions& options) : state_(std::make_unique<State>(options)) {}
RPCRunner::~RPCRunner() = default;

RunResult RPCRunner::run(const RunRequest& request) {
  if (!request.reference && !request.made_reference)
    refuse(ErrorKind::kArgument, "RPCRunner: a run needs what its outputs are compared with");
  const Parcel object = parcel(request.object);
  const std::shared_ptr<const RemoteTask> task = state_->task(request);
  Job job{.name = {},
          .task = task->name,
          .object = object.digest,
          .lower_bound_s = request.lower_bound_s,
          .give_up_above_s = request.give_up_above_s,
          .candidate = request.candidate,
          .attempt = state_->attempts++};
  job.name = name_of(job);
  return result_of(state_->boards.measure(task, object, job).get(), request.lower_bound_s);
}

int RPCRunner::slots() const { return Boards::kDeep * static_cast<int>(state_->boards.size()); }
MachineDescription RPCRunner::machine() const { return state_->boards.description().machine; }
std::string RPCRunner::target() const { return state_->boards.description().target; }
std::string RPCRunner::state() const { return state_->boards.state(); }
void RPCRunner::cancel() { state_->boards.cancel(); }

std::string RPCRunner::why_not(const Target& target) const {
  const BoardDescription& board = state_->boards.description();
  std::string why;
  if (const std::string gpu = target::cuda::architecture_in(board.target); !gpu.empty()) {
    why = target::cuda::why_not_on(gpu, target);
  } else if (!target.arch.empty()) {
    why = "the board measures on its CPU";
  } else if (target::architecture_of(target.triple) != target::architecture_of(board.cpu.triple)) {
    why = "the board is a " + board.cpu.triple + " with a CPU like " + board.cpu.name;
  } else {
    for (const std::string& missing : target::missing_on(board.cpu, target.features, target.sve_bits))
      why += (why.empty() ? "the board lacks " : ", ") + missing;
  }
  return why.empty() ? why : why + "; what it runs is target=\"" + board.target + "\"";
}

}  // namespace tw::rpc
