// Tasks: the first runs of a template, and the Steps of any candidate.
//
// The template runs once with the knobs' first values, which gives the trace, and once more with others as a test of
// the trace: what it gives then must be what the trace says. If not, the template either looks at knobs' values in a
// way that we could not see, and is run for each candidate from then on, or it is not deterministic and refused.
#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "autotune/knobs.h"
#include "autotune/rng.h"
#include "autotune/trace.h"

namespace tw::autotune {

using schedule::Schedule;
using schedule::Step;

struct Task::State {
  std::string name, args_json;
  Template run;
  Target target;
  Space space;
  std::string hash;
  bool branching = false;
  std::optional<Scheduled> first;
  std::optional<Schedule> plain;  // of the same tensors, without Steps
  Trace trace;
  mutable std::mutex template_lock;  // a template is called by one thread at a time
};

namespace {

std::string fnv_hex(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(h));
  return hex;
}

std::string computation(const Scheduled& s) { return ir::to_string(te::naive_program(s.schedule.outputs(), s.args)); }

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
    if (op->is_placeholder() && !given(op.output())) {
      tune_error("the template " + name + " must return all placeholders among its tensors; " + op->name +
                 " is missing");
    }
  }
}

// The first run. The knobs' first values are the mildest, but they too may be refused by a primitive.
std::pair<Scheduled, Config> first_run(const std::string& name, const Template& run) {
  constexpr int kAttempts = 16;
  Rng rng(1);
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

[[noreturn]] void not_deterministic(const std::string& name) {
  tune_error("the template " + name + " must give the same schedule each time it runs with the same knobs; it gave two",
             {"chance, time or state outside the template must not decide what it declares or schedules"});
}

}  // namespace

Task::Task(std::string name, std::string args_json, Template run, Target target) {
  auto state = std::make_shared<State>();
  state->name = name;
  const auto args = nlohmann::json::parse(args_json, nullptr, false);
  if (!args.is_array()) tune_error("the arguments of task " + name + " must be a JSON array, not " + args_json);
  state->args_json = args.dump();
  state->run = std::move(run);
  state->target = std::move(target);
  auto [first, config] = first_run(name, state->run);
  check_arguments(name, first);
  state->space = Space(config.knobs());
  state->branching = config.branching();
  const std::string text = computation(first);
  state->hash = fnv_hex(text);
  if (Result<Trace> trace = make_trace(config, first.schedule.steps()))
    state->trace = *std::move(trace);
  else
    state->branching = true;
  state->first = first;
  state->plain.emplace(first.schedule.outputs());

  Rng rng(2);
  const uint64_t other = state->space.size() > 1 ? rng.below(state->space.size()) : 0;
  if (!state->branching) {
    Config test(state->space, state->space.digits(other));
    Result<Scheduled> second = try_run(state->run, test);
    if (second && test.branching()) state->branching = true;
    if (second &&
        (computation(*second) != text ||
         resolved(second->schedule.steps()) != instantiate(state->trace, state->space, state->space.digits(other)))) {
      state->branching = true;
    }
  }
  if (state->branching) {
    Config again(state->space, config.digits());
    Result<Scheduled> second = try_run(state->run, again);
    if (!second || !same_run(first, *second)) not_deterministic(name);
  }
  state_ = std::move(state);
}

const std::string& Task::name() const { return state_->name; }
const std::string& Task::args() const { return state_->args_json; }
const Target& Task::target() const { return state_->target; }
const Space& Task::space() const { return state_->space; }
const std::string& Task::hash() const { return state_->hash; }
bool Task::branching() const { return state_->branching; }
std::vector<te::Tensor> Task::outputs() const { return state_->first->schedule.outputs(); }
const std::vector<te::Tensor>& Task::arguments() const { return state_->first->args; }

Result<std::vector<Step>> Task::steps(uint64_t index) const {
  if (!state_->branching) return instantiate(state_->trace, state_->space, state_->space.digits(index));
  TW_TRY(Scheduled s, candidate(index));
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
  if (!state_->branching) {
    Schedule s = *state_->plain;
    for (Step& step : instantiate(state_->trace, state_->space, state_->space.digits(index))) {
      TW_TRY([[maybe_unused]] Unit done, s.try_apply(std::move(step)));
    }
    return Scheduled{std::move(s), state_->first->args};
  }
  std::lock_guard lock(state_->template_lock);
  Config config(state_->space, state_->space.digits(index));
  TW_TRY(Scheduled s, try_run(state_->run, config));
  TW_TRY([[maybe_unused]] Unit same, same_signature(*state_->first, s));
  return s;
}

Result<Scheduled> Task::candidate(uint64_t index) const {
  TW_TRY(Scheduled s, applied(index));
  TW_TRY([[maybe_unused]] Unit legal, s.schedule.check());
  return s;
}

Result<Scheduled> Task::replay(const Trial& trial) const {
  Scheduled base = *state_->first;
  if (state_->branching) {
    TW_TRY(uint64_t index, state_->space.find(trial.knobs));
    TW_TRY(base, applied(index));
  }
  TW_TRY(Schedule s, Schedule::from_steps(base.schedule.outputs(), trial.steps));
  TW_TRY([[maybe_unused]] Unit legal, s.check());
  return Scheduled{std::move(s), base.args};
}

}  // namespace tw::autotune
