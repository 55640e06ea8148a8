// Builds and runs candidates.
#include "autotune/measure/measure.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "autotune/measure/check_programs.h"
#include "autotune/model/bound.h"
#include "autotune/space/knobs.h"
#include "autotune/space/trace.h"
#include "codegen/arg_specs.h"
#include "codegen/backends.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/program_image.h"
#include "schedule/rule_schedule.h"
#include "src/runtime/inputs.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/run_result.h"
#include "src/support/deep_stack.h"
#include "src/support/in_parallel.h"

namespace tw::autotune {

namespace {

constexpr const char* kKernel = "candidate";
constexpr double kReferenceTimes = 30;     // a candidate's deadline, for the reference
constexpr double kMostCarried = 16 << 20;  // bytes of arguments whose reference travels
constexpr int kProbesElsewhere = 64;       // of each output

void fail(Built& built, std::string why) {
  built.trial.status = "build_failed";
  built.trial.detail = runtime::one_line(std::move(why));
}

std::vector<runtime::ArgSpec> specs_of(const Task& task) {
  return codegen::arg_specs(te::naive_program(task.outputs(), task.arguments()));
}

// What its compiler needs to find: the path of a library, where the target has such a one. Throws kBuild.
std::string library_for(const Target& target) {
  if (target.kind != "cuda" || codegen::wants_program_images()) return "";
  return codegen::nvrtc_path().value_or_throw();
}

Result<Candidate> derived(uint64_t index, Scheduled s, Scheduled built) {
  TW_TRY(ir::Program loops, schedule::to_ir(built.schedule, built.args, kKernel));
  return Candidate{index, std::move(s), std::move(built), std::move(loops), 0};
}

// This machine's, which rounds as candidates do: one bit of a float may be one of an integer that it becomes.
Target reference_target(const Target& of_candidates) {
  const Target host = Target::host();
  if (of_candidates.abilities.fma || !host.abilities.fma) return host;
  return Target::parse(host.kind + " -mcpu=native -mattr=-fma").value_or_throw();
}

}  // namespace

Result<Candidate> prepare(const Task& task, uint64_t index) {
  TW_TRY(Scheduled applied, task.applied(index));
  TW_TRY(Scheduled built, task.built(applied));
  return derived(index, std::move(applied), std::move(built));
}

Measurer::Measurer(const Task& task, const TuneOptions& options, runtime::Runner& runner)
    : Measurer(task, options, &runner, runner.machine()) {
  runner.elsewhere() ? make_checks_for_elsewhere() : make_reference();
  make_device_checks();
}

Measurer::Measurer(const Task& task, const TuneOptions& options, const MachineDescription& where)
    : Measurer(task, options, nullptr, where) {
  make_checks_for_elsewhere();
  make_device_checks();
}

Measurer::Measurer(const Task& task, const TuneOptions& options, runtime::Runner* runner,
                   const MachineDescription& where)
    : task_(task),
      options_(options),
      runner_(runner),
      where_(where),
      machine_(schedule::describe_machine(task.target(), where_)),
      folder_("tensorwright"),
      library_(library_for(task.target())),
      own_builder_(runner && runner->builder() ? nullptr : std::make_unique<runtime::LocalBuilder>()),
      builder_(own_builder_ ? *own_builder_ : *runner->builder()),
      verdicts_(task.target()) {
  support::remove_abandoned_folders();
  if (!folder_.usable()) tune_error(folder_.why_not(), {"candidates need one: TMPDIR may name a place"});
}

Built Measurer::default_schedule(const Target& target) {
  Built built;
  // Rules bind nothing to a device: there it is the schedule that the prior likes best.
  const Scheduled s{target.abilities.device ? tw::default_schedule(task_.outputs(), target)
                                            : schedule::rule_schedule(task_.outputs(), target),
                    task_.arguments()};
  const Result<Candidate> plain = derived(0, s, s);
  if (plain)
    compile(*plain, target, built);
  else
    fail(built, plain.error().what);
  if (!built.ok()) require_room();
  if (!built.ok()) tune_error("the default schedule of this computation cannot be built", {built.trial.detail});
  return built;
}

// By the default schedule on this machine, wherever candidates run; in a worker, which it may take along.
void Measurer::make_reference() {
  runtime::RunRequest request;
  request.args = specs_of(task_);
  runtime::require_memory(request.args, runtime::kCopiesOfRun);
  request.object = default_schedule(reference_target(task_.target())).object;
  request.kernel = kKernel;
  request.rtol = request.atol = std::vector<double>(request.args.size());
  request.threads = runtime::num_threads();
  request.timeout_s = kReferenceTimes * options_.timeout_s;
  data_ = make_check_data(task_.outputs(), task_.arguments(), request.args, [&](const Blob& inputs) {
    request.inputs = inputs;
    const runtime::RunResult result = runtime::LocalRunner().run(request);
    if (result.outputs) return *result.outputs;
    tune_error("the default schedule of this computation fails: " + std::string(to_string(result.status)),
               {runtime::one_line(result.detail)});
  });
}

// Inputs are made there, and do not travel.
void Measurer::make_checks_for_elsewhere() {
  const std::vector<runtime::ArgSpec> specs = specs_of(task_);
  runtime::require_memory(specs, 1);
  data_ = unchecked_data(task_.outputs(), specs);
  if (argument_bytes() > kMostCarried) leave_reference_to_machine();
  if (!made_reference_) make_reference();
  data_.inputs = {};
}

// Where elements can be known without it.
void Measurer::leave_reference_to_machine() {
  std::vector<runtime::Probe> probes = probes_of(task_.arguments(), data_, kProbesElsewhere);
  if (!probes.empty()) made_reference_ = {default_schedule(task_.target()).object, std::move(probes)};
}

void Measurer::make_device_checks() {
  std::vector<ir::Program> programs = check_programs(data_.args, task_.target());
  if (programs.empty()) return;
  const std::vector<ir::Program> more(programs.begin() + 1, programs.end());
  Built built;
  device_checks_ = build(programs.front(), more, task_.target(), built);
  if (device_checks_.size() == 0)
    tune_error("what compares results on the device cannot be built", {built.trial.detail});
}

rpc::Pack Measurer::pack() const {
  rpc::Pack pack;
  const Target& target = task_.target();
  pack.checks.target = target.to_string();
  pack.checks.triple = target.triple;
  pack.checks.features = target.features;
  pack.checks.sve_bits = target.sve_bits;
  pack.checks.kernel = kKernel;
  pack.checks.args = data_.args;
  pack.checks.rtol = data_.rtol;
  pack.checks.made_reference = made_reference_;
  pack.checks.device_checks = device_checks_;
  if (!made_reference_) pack.checks.reference = data_.reference;
  pack.checks.timeout_s = options_.timeout_s;
  pack.checks.number = options_.number;
  pack.checks.repeat = options_.repeat;
  pack.batch = options_.batch;
  pack.confirm = options_.confirm;
  return pack;
}

Measurer::~Measurer() = default;

void Measurer::compile(const Candidate& c, const Target& target, Built& built) try {
  const lower::Passes& passes = codegen::backend_of(target).passes;
  const ir::Program kernel = support::with_deep_stack([&] { return lower::run_pipeline(passes, c.loops, target); });
  built.object = build(kernel, pack_programs(c.built.schedule, c.built.args, target, kernel), target, built);
} catch (const Error& e) {
  fail(built, e.diagnostic().what);
}

// Of no bytes where it fails, as the trial says then.
Blob Measurer::build(const ir::Program& kernel, const std::vector<ir::Program>& more, const Target& target,
                     Built& built) {
  runtime::BuildRequest request;
  request.ir_text = ir::to_string(kernel);
  for (const ir::Program& program : more) request.packers.push_back(ir::to_string(program));
  request.target = target.to_string();
  request.nvrtc = library_;
  request.out_path = new_path();
  const runtime::BuildResult result = builder_.build(request, options_.timeout_s);
  if (!result.ok()) fail(built, std::string(to_string(result.status)) + ": " + result.message);
  if (!result.unfit.empty()) built.trial.status = result.unfit, built.trial.detail = result.message;
  if (result.status == runtime::BuildStatus::kLost)  // not the candidate's fault
    built.trial.status = to_string(runtime::RunStatus::kDeviceLost);
  return result.ok() ? take_object(request.out_path) : Blob();
}

std::string Measurer::new_path() { return folder_ / (std::to_string(objects_++) + ".so"); }

Blob Measurer::take_object(const std::string& path) const {
  Blob object = Blob::read(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return object;
}

// A disk that is full is no candidate's fault.
void Measurer::require_room() const {
  constexpr size_t kRoom = size_t{1} << 16;
  const std::string path = folder_ / "room";
  std::ofstream file(path);
  file << std::string(kRoom, ' ');
  file.close();
  const bool room = file.good();
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!room) tune_error("no room for candidates in " + folder_.path(), {"make room, or name another folder by TMPDIR"});
}

void Measurer::build_by_user(Built& built) try {
  const std::string path = new_path(), failure = options_.build(built.trial.index, path);
  if (!failure.empty()) return fail(built, failure);
  built.object = take_object(path);
} catch (const Error& e) {
  fail(built, e.diagnostic().what);
}

void Measurer::make_object(const Candidate& c, Built& built) {
  if (std::string finding = verdicts_.of(c.scheduled, c.loops); !finding.empty()) {
    built.trial.status = "faulty";
    built.trial.detail = runtime::one_line(std::move(finding));
  } else if (options_.build) {
    build_by_user(built);
  } else {
    compile(c, task_.target(), built);
    if (!built.ok()) require_room();
  }
  built.lower_bound = c.bound;
}

Built Measurer::build(const Candidate& candidate) {
  Built built;
  built.trial.index = candidate.index;
  built.trial.knobs = task_.space().describe(candidate.index);
  built.trial.steps = resolved(candidate.scheduled.schedule.steps());
  make_object(candidate, built);
  return built;
}

std::vector<Built> Measurer::build(std::span<const Candidate> candidates) {
  std::vector<Built> all(candidates.size());
  support::in_parallel(candidates.size(), static_cast<size_t>(builder_.slots()), [&](size_t i) {
    if (!stopped_) all[i] = build(candidates[i]);
  });
  if (stopped_) std::erase_if(all, [](const Built& b) { return b.trial.status.empty() && !b.ok(); });
  return all;
}

Built Measurer::rebuild(const Trial& recorded) {
  Built built;
  built.trial = recorded;
  const auto again = [&]() -> Status {
    TW_TRY(Scheduled s, task_.replay(recorded));
    TW_TRY(Scheduled whole, task_.built(s));
    TW_TRY(Candidate c, derived(recorded.index, std::move(s), std::move(whole)));
    c.bound = lower_bound_seconds(c.scheduled.schedule, machine_);
    make_object(c, built);
    return Unit{};
  };
  if (const Status done = again(); !done) {
    built.trial.status = "refused";
    built.trial.detail = done.error().what;
  }
  return built;
}

void Measurer::run(Built& built, double give_up_above) {
  runtime::RunRequest request;
  request.object = built.object;
  request.kernel = kKernel;
  request.args = data_.args;
  request.inputs = data_.inputs;
  request.inputs_version = runtime::kInputsVersion;
  request.made_reference = made_reference_;
  if (!made_reference_) request.reference = data_.reference;
  request.device_checks = device_checks_;
  request.rtol = data_.rtol;
  request.atol = data_.atol;
  request.threads = where_.threads;
  request.timeout_s = options_.timeout_s;
  request.give_up_above_s = give_up_above;
  request.lower_bound_s = built.lower_bound;
  request.number = options_.number;
  request.repeat = options_.repeat;
  request.candidate = built.trial.index;
  const runtime::RunResult result = runtime::judged(runner_->run(request));
  built.trial.status = to_string(result.status);
  built.trial.seconds = result.seconds;
  built.trial.rtol = *std::max_element(data_.rtol.begin(), data_.rtol.end());
  built.trial.spread = result.spread;
  built.trial.runs = result.runs;
  built.trial.place = result.place;
  built.trial.detail = runtime::one_line(result.detail);
}

double Measurer::argument_bytes() const {
  double bytes = 0;
  for (const runtime::ArgSpec& arg : data_.args) bytes += static_cast<double>(arg.bytes());
  return bytes;
}

void Measurer::stop() {
  stopped_ = true;
  builder_.cancel();
}

}  // namespace tw::autotune
