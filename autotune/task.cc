// Tasks: the first runs of a template, and the Steps of any candidate.
//
// A run with certain knob values gives a trace. A template that looks at a knob's value may do something else for
// another value: its traces form a tree of the values that were looked at, and the template runs once for each path
// that is met.
//
// One more run is a test of the first trace: with the same values where the template looked, and others elsewhere, it
// must give what the trace says. If not, the template either looks at knobs in a way that cannot be seen, and is run
// for each candidate from then on, or it is not deterministic and refused.
#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "autotune/computation_hash.h"
#include "autotune/sketch/sketch.h"
#include "autotune/space/knobs.h"
#include "autotune/space/trace.h"
#include "src/ir/externs.h"
#include "src/ir/walk.h"
#include "src/support/json_text.h"
#include "src/support/rng.h"
#include "te/at_size.h"
#include "tensorwright/externs.h"

namespace tw::autotune {

using schedule::Schedule;
using schedule::Step;

// What a run gave, for all candidates that agree with it where the template looked.
struct Path {
  std::vector<std::pair<size_t, uint32_t>> looked_at;  // knob, digit
  Trace trace;
  Schedule begun;  // of its tensors, with the Steps that all candidates have in common at the beginning
  std::vector<te::Tensor> args;
  bool covers(const Digits& digits) const {
    return std::all_of(looked_at.begin(), looked_at.end(), [&](const auto& l) { return digits[l.first] == l.second; });
  }
};

struct Task::State {
  std::string name, args_json;
  Template run;
  Target target;
  Space space;
  std::vector<Config::Keeps> filters;
  std::string hash;
  std::optional<Scheduled> first;
  std::vector<te::Tensor> any_size;  // the arguments of the kernel that takes any; empty: of no task at a size
  bool opaque = false;               // traces cannot be trusted: the template runs for each candidate

  mutable std::mutex lock;  // of the paths; a template and its filters are called by one thread at a time
  mutable std::vector<std::shared_ptr<const Path>> paths;
};

namespace {

constexpr size_t kMaxPaths = 1000;

// Candidates run in other processes, which know functions by their symbols only.
void require_symbols(const std::string& task, const Scheduled& s) {
  for (const std::string& symbol : ir::extern_symbols(te::naive_program(s.schedule.outputs(), s.args)))
    if (extern_is_by_pointer(symbol))
      throw Error({ErrorKind::kTune,
                   "task " + task + ": calls " + symbol + ", which was registered by a pointer",
                   {},
                   {"a pointer has a meaning in this process only; load a library that has the symbol instead"}});
}

// What is computed, and which inputs may be packed: a schedule that packs is none for the task that may not.
std::string computation(const Scheduled& s) {
  std::string text = ir::to_string(te::naive_program(s.schedule.outputs(), s.args));
  for (const te::Tensor& t : s.args)
    if (const auto* input = std::get_if<te::Placeholder>(&t.op()->kind); input && input->param)
      text += "param " + t.name() + "\n";
  return text;
}

// Runs the template; errors of schedule primitives are given back, for they may be this candidate's only.
Result<Scheduled> try_run(const Template& run, Config& config) {
  try {
    return run(config);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kSchedule) return e.diagnostic();
    throw;
  }
}

void check_arguments(const std::string& name, const Scheduled& s) {
  const auto given = [&](const te::Tensor& t) { return std::find(s.args.begin(), s.args.end(), t) != s.args.end(); };
  for (const te::Tensor& output : s.schedule.outputs()) {
    if (!given(output)) {
      tune_error("the template " + name + " must return all outputs among its tensors; " + output.name() +
                 " is missing");
    }
  }
  for (const te::Operation& op : te::topological_order(s.schedule.outputs())) {
    for (const ir::Expr& extent : op->shape()) {
      if (ir::as_int(extent)) continue;
      tune_error(
          "the template " + name + " must have known extents; one of " + op->name + " is " + ir::to_string(extent),
          {"what is measured has a size: tune for typical ones, and build the best schedule for all"});
    }
    if (op->is_placeholder() && !given(op.output())) {
      tune_error("the template " + name + " must return all placeholders among its tensors; " + op->name +
                 " is missing");
    }
  }
}

// The first run. The knobs' first values are the mildest, but they too may be refused by a primitive.
std::pair<Scheduled, Config> first_run(const std::string& name, const Template& run) {
  constexpr int kAttempts = 16;
  support::Rng rng(1);
  Config config;
  std::optional<Diagnostic> refusal;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<Scheduled> result = try_run(run, config);
    if (result) return {*std::move(result), std::move(config)};
    if (!refusal) refusal = result.error();
    const Space so_far(config.knobs());
    if (so_far.size() <= 1) break;
    config = Config::with_choices(so_far, so_far.digits(rng.below(so_far.size())));
  }
  refusal->notes.push_back("raised by the template " + name);
  throw Error(*std::move(refusal));
}

bool same_run(const Scheduled& a, const Scheduled& b) {
  return resolved(a.schedule.steps()) == resolved(b.schedule.steps()) && computation(a) == computation(b);
}

std::vector<std::pair<size_t, uint32_t>> looked_at(const Config& config) {
  std::vector<std::pair<size_t, uint32_t>> out;
  for (size_t knob : config.read()) out.emplace_back(knob, config.digits()[knob]);
  return out;
}

// Nothing for a run that has no trace: the template is opaque.
std::shared_ptr<const Path> make_path(const Config& config, const Scheduled& s) {
  if (config.opaque()) return nullptr;
  Result<Trace> trace = make_trace(config, s.schedule.steps());
  if (!trace) return nullptr;
  Schedule begun(s.schedule.outputs());
  for (size_t i = 0; i < common_steps(*trace); ++i) begun.apply(trace->steps[i]);
  return std::make_shared<const Path>(Path{looked_at(config), *std::move(trace), std::move(begun), s.args});
}

// Random digits, but those of the path where the template looked.
Digits others(const Space& space, const Path& path, support::Rng& rng) {
  Digits digits = space.digits(rng.below(space.size()));
  for (const auto& [knob, digit] : path.looked_at) digits[knob] = digit;
  return digits;
}

// Whether a second run, with other values where the template did not look, gives what the trace says.
bool confirms(const Path& path, const Scheduled& first, const Space& space, const Template& run) {
  support::Rng rng(2);
  const Digits digits = others(space, path, rng);
  Config test(space, digits);
  const Result<Scheduled> second = try_run(run, test);
  if (!second) return true;  // these values are refused; that they are is the candidate's affair
  return !test.opaque() && looked_at(test) == path.looked_at && computation(*second) == computation(first) &&
         resolved(second->schedule.steps()) == instantiate(path.trace, space, digits);
}

[[noreturn]] void not_deterministic(const std::string& name) {
  tune_error("the template " + name + " must give the same schedule each time it runs with the same knobs; it gave two",
             {"chance, time or state outside the template must not decide what it declares or schedules"});
}

}  // namespace

Task::Task(std::string name, std::string args_json, Template run, Target target) {
  auto state = std::make_shared<State>();
  state->name = name;
  const auto args = support::read_json<nlohmann::ordered_json>(args_json);
  if (!args.is_array() && !args.is_object())
    tune_error("the arguments of task " + name + " must be a JSON array or object, not " + args_json);
  state->args_json = support::to_text(args);
  state->run = std::move(run);
  state->target = std::move(target);
  auto [first, config] = first_run(name, state->run);
  check_arguments(name, first);
  require_symbols(name, first);
  state->space = Space(config.knobs());
  state->filters = config.filters();
  state->hash = computation_hash(first.schedule.outputs(), first.args);
  state->first = first;

  const std::shared_ptr<const Path> path = make_path(config, first);
  state->opaque = path == nullptr || !confirms(*path, first, state->space, state->run);
  if (state->opaque) {
    Config again(state->space, config.digits());
    const Result<Scheduled> second = try_run(state->run, again);
    if (!second || !same_run(first, *second)) not_deterministic(name);
  } else {
    state->paths.push_back(path);
  }
  state_ = std::move(state);
}

namespace {

std::string name_of(const std::vector<te::Tensor>& args) {
  for (auto t = args.rbegin(); t != args.rend(); ++t)
    if (!t->op()->is_placeholder()) return t->op()->name;
  return "kernel";  // of no output: the constructor refuses it
}

}  // namespace

Task::Task(std::vector<te::Tensor> args, Target target, std::string name, std::string args_json)
    : Task(name.empty() ? name_of(args) : std::move(name), std::move(args_json), automatic(args, target), target) {}

namespace {

// Weights are packed by one schedule, and sizes have several.
void refuse_packing(const std::vector<te::Tensor>& args) {
  for (const te::Tensor& t : args)
    if (const auto* p = std::get_if<te::Placeholder>(&t.op()->kind); p && p->param)
      tune_error("sizes: " + t.name() + " must not be a param: it is packed once, and each size has its schedule");
}

void require_numbers(const std::vector<te::Tensor>& args, const std::string& size) {
  for (const te::Tensor& t : args)
    for (const ir::Expr& extent : t.shape())
      ir::walk(extent, [&](const ir::Expr& e) {
        if (const auto* v = ir::as<ir::VarRef>(e))
          tune_error("sizes: " + v->var.name() + ", an extent of " + t.name() + ", varies too and must have a value",
                     {"sizes={" + size + ": [1, 8, 64], " + v->var.name() +
                      ": 128} measures where it is 128; the kernel takes any"});
        return true;
      });
}

// Whether some of a few candidates are legal whatever the size is.
bool fits_any_size(const Task& task) {
  constexpr int kTries = 16;
  support::Rng rng(1);
  for (int n = 0; n < kTries; ++n) {
    const Result<Scheduled> one = task.candidate(n == 0 ? 0 : rng.below(task.space().size()));
    if (one && task.built(*one).ok()) return true;
  }
  return false;
}

}  // namespace

Task Task::at_size(const std::vector<te::Tensor>& args, Target target, const ir::Var& size, int64_t value,
                   std::string name, const std::vector<std::pair<ir::Var, int64_t>>& others) {
  if (target.abilities.device)
    tune_error("sizes: kernels that choose by a size are for CPUs, not for " + target.to_string());
  refuse_packing(args);
  nlohmann::ordered_json values = {};
  std::vector<te::Tensor> known = args;
  const auto fix = [&](const ir::Var& v, int64_t to) {
    if (to < 1) tune_error("sizes: " + v.name() + " must be a positive integer, not " + std::to_string(to));
    values[v.name()] = to;
    known = te::at_size(known, v, to);
  };
  fix(size, value);
  for (const auto& [var, where] : others) fix(var, where);
  require_numbers(known, size.name());
  if (name.empty()) name = name_of(known);
  const std::string hash = hash_at_sizes(computation_hash(outputs_among(args), args), support::to_text(values));
  std::optional<Task> found;
  for (const Target& fewer : with_fewer_products(target)) {
    try {
      found = Task(name, support::to_text(values), automatic(known, fewer, true), target);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kSchedule || fewer.abilities.dots.empty()) throw;
      continue;
    }
    const auto state = std::const_pointer_cast<State>(found->state_);  // nobody else has it yet
    state->any_size = args;
    state->hash = hash;
    if (fits_any_size(*found)) break;
  }
  return *std::move(found);
}

Result<Scheduled> Task::built(const Scheduled& candidate) const {
  if (state_->any_size.empty()) return candidate;
  std::vector<te::Tensor> outputs;
  for (const te::Tensor& output : candidate.schedule.outputs()) {
    const auto at = std::find(candidate.args.begin(), candidate.args.end(), output);
    outputs.push_back(state_->any_size.at(static_cast<size_t>(at - candidate.args.begin())));
  }
  TW_TRY(Schedule s, Schedule::from_steps(outputs, resolved(candidate.schedule.steps())));
  TW_TRY([[maybe_unused]] Unit legal, s.check());
  return Scheduled{std::move(s), state_->any_size};
}

const std::string& Task::name() const { return state_->name; }
const std::string& Task::args() const { return state_->args_json; }
const Target& Task::target() const { return state_->target; }
const Space& Task::space() const { return state_->space; }
const std::string& Task::hash() const { return state_->hash; }
bool Task::branching() const { return state_->opaque || !state_->paths.front()->looked_at.empty(); }
std::vector<te::Tensor> Task::outputs() const { return state_->first->schedule.outputs(); }
const std::vector<te::Tensor>& Task::arguments() const { return state_->first->args; }

Result<std::vector<Step>> Task::steps(uint64_t index) const {
  TW_TRY(Scheduled s, applied(index));
  return resolved(s.schedule.steps());
}

namespace {

Status same_signature(const Scheduled& a, const Scheduled& b) {
  const auto differ = [](const te::Tensor& x, const te::Tensor& y) {
    if (x.dtype() != y.dtype() || x.rank() != y.rank()) return true;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (ir::as_int(x.shape()[d]) != ir::as_int(y.shape()[d])) return true;
    }
    return false;
  };
  if (a.args.size() == b.args.size() && std::equal(a.args.begin(), a.args.end(), b.args.begin(), std::not_fn(differ)))
    return Unit{};
  return Diagnostic{
      ErrorKind::kTune, "the template's tensors must have the same shapes and dtypes whatever the knobs are", {}, {}};
}

}  // namespace

Result<Scheduled> Task::applied(uint64_t index) const {
  const Digits digits = state_->space.digits(index);
  std::shared_ptr<const Path> path;
  {
    std::lock_guard lock(state_->lock);
    for (const Config::Keeps& keeps : state_->filters)
      if (const std::string knobs = state_->space.describe(index); !keeps(knobs))
        return Diagnostic{ErrorKind::kSchedule, "multi_filter: leaves out " + knobs, {}, {}};
    const auto known =
        std::find_if(state_->paths.begin(), state_->paths.end(), [&](const auto& p) { return p->covers(digits); });
    if (known != state_->paths.end()) {
      path = *known;
    } else {
      Config config(state_->space, digits);
      TW_TRY(Scheduled s, try_run(state_->run, config));
      TW_TRY([[maybe_unused]] Unit same, same_signature(*state_->first, s));
      if (!state_->opaque && state_->paths.size() < kMaxPaths) path = make_path(config, s);
      if (path == nullptr) return s;
      state_->paths.push_back(path);
    }
  }
  Schedule s = path->begun;
  std::vector<Step> steps = instantiate(path->trace, state_->space, digits);
  for (size_t i = s.steps().size(); i < steps.size(); ++i) {
    TW_TRY([[maybe_unused]] Unit done, s.try_apply(std::move(steps[i])));
  }
  return Scheduled{std::move(s), path->args};
}

Result<Scheduled> Task::candidate(uint64_t index) const {
  TW_TRY(Scheduled s, applied(index));
  if (state_->target.abilities.device) {  // what lanes keep for each other is judged with the loops
    TW_TRY([[maybe_unused]] ir::Program legal, schedule::to_ir(s.schedule, s.args));
  } else {
    TW_TRY([[maybe_unused]] Unit legal, s.schedule.check());
  }
  return s;
}

Result<Scheduled> Task::replay(const Trial& trial) const {
  Scheduled base = *state_->first;
  if (branching()) {
    // Knobs of another release may be no point of this space. Its Steps then go to the computation of the first run,
    // which means the same whatever the knobs are.
    if (const Result<uint64_t> index = state_->space.find(trial.knobs)) {
      TW_TRY(base, applied(*index));
    }
  }
  TW_TRY(Schedule s, Schedule::from_steps(base.schedule.outputs(), trial.steps));
  TW_TRY([[maybe_unused]] Unit legal, s.check());
  return Scheduled{std::move(s), base.args};
}

}  // namespace tw::autotune
