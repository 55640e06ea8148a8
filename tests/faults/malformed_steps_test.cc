// 10,000 random Steps, most of them illegal, on random schedules: each is refused with a typed error that leaves the
// schedule as it was, or is accepted; and what a row of accepted Steps makes of an expression is refused as a whole or
// means the definition.
#include <cstdlib>
#include <utility>

#include "schedule/loop_nest.h"
#include "src/lower/pipeline.h"
#include "src/support/deep_stack.h"
#include "tensorwright/schedule.h"
#include "tests/diff/packing.h"
#include "tests/diff/sampler.h"
#include "tests/faults/malformed.h"

namespace tw::faults {
namespace {

using diff::Random;
using diff::Sample;
using schedule::Factor;
using schedule::Schedule;
using schedule::Step;
using schedule::StepKind;

constexpr int kSteps = 10'000;
constexpr int kStepsPerSchedule = 8;

// Fills the fields of a Step, whatever they are: mostly with names and numbers that are there, one of them often wrong.
class Filler {
 public:
  Filler(Random& random, const Schedule& schedule) : r_(random), nest_(schedule.nest()) {
    stage_ = &nest_.stage(static_cast<int>(r_.below(nest_.size())));
    for (int i = 0; i < nest_.size(); ++i) {
      words_.push_back(nest_.stage(i).name);
      for (const schedule::Axis& axis : nest_.stage(i).axes) words_.push_back(axis.name);
    }
  }

  template <class... Fields>
  void operator()(const std::tuple<Fields...>& fields) {
    std::apply([&](auto&... field) { (fill(const_cast<std::decay_t<decltype(field)>&>(field)), ...); }, fields);
  }

 private:
  void fill(std::string& text) {
    static const std::vector<std::string> kOdd = {"",
                                                  ".",
                                                  "*",
                                                  "i.o.o.o",
                                                  "nothing",
                                                  "i*j*i",
                                                  "\xff\xfe",
                                                  "i and",
                                                  std::string(300, 'i'),
                                                  "auto_unroll_max_step",
                                                  "i < 3",
                                                  "unroll_explicit"};
    const bool first = std::exchange(first_, false);
    if (r_.chance(4)) {
      text = r_.pick(kOdd);
    } else if (first && r_.chance(95)) {
      text = stage_->name;
    } else if (r_.chance(70) && !stage_->leaves.empty()) {
      text = stage_->axes[r_.pick(stage_->leaves)].name;
    } else {
      text = r_.pick(words_);
    }
  }
  void fill(int64_t& n) {
    n = r_.chance(80)
            ? r_.below(12)
            : r_.one_of<int64_t>({-1, 0, 64, 1000, int64_t{1} << 31, int64_t{1} << 62, INT64_MAX, INT64_MIN, -7});
  }
  void fill(Factor& factor) {
    fill(factor.value);
    if (r_.chance(3)) factor.knob = "tile";
    if (r_.chance(10))
      factor.size = r_.one_of<const char*>({"part", "max(n, 1)", "m + 1", "n - n", "n +", "i", "1.5", "4", "sqrt(n)",
                                            "for", "(", "\"", "n // 0", "9223372036854775807", "max(n * m, 1)"});
  }
  void fill(bool& b) { b = r_.chance(50); }
  void fill(ir::Tail& tail) { tail = static_cast<ir::Tail>(r_.below(static_cast<int>(ir::Tail::kPad) + 1)); }
  void fill(ir::Scope& scope) {
    scope = r_.one_of({ir::Scope::kLocal, ir::Scope::kShared, ir::Scope::kGlobal, ir::Scope::kArgument});
  }
  template <class T>
  void fill(std::optional<T>& value) {
    if (r_.chance(50)) fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(static_cast<size_t>(r_.below(4)));
    for (T& value : values) fill(value);
  }
  template <class T>
  void fill(T&) {}  // kinds of fields that have no random value keep their own

  Random& r_;
  const schedule::LoopNest& nest_;
  const schedule::StageNest* stage_;  // the one that the Step is about
  bool first_ = true;                 // its name comes first
  std::vector<std::string> words_;
};

template <size_t... I>
StepKind kind_number(size_t n, std::index_sequence<I...>) {
  StepKind out;
  ((n == I ? void(out = std::variant_alternative_t<I, StepKind>()) : void()), ...);
  return out;
}

Step random_step(Random& r, const Schedule& schedule) {
  constexpr size_t kKinds = std::variant_size_v<StepKind>;
  StepKind kind = kind_number(static_cast<size_t>(r.below(kKinds)), std::make_index_sequence<kKinds>());
  Filler filler(r, schedule);
  std::visit([&](auto& step) { filler(step.fields()); }, kind);
  if (auto* bind = std::get_if<schedule::Bind>(&kind); bind && r.chance(80))
    bind->thread = to_string(schedule::kDeviceIndices[r.below(std::size(schedule::kDeviceIndices))]);
  return Step(kind);
}

struct Counts {
  int steps = 0, refused = 0, schedules = 0, whole = 0, judged = 0;
};

// What is wrong with one Step on a schedule, or "".
std::string apply(Schedule& s, const Step& step, Counts& counts) {
  const std::string before = to_string(s);
  const size_t steps = s.steps().size();
  const Stopwatch watch;
  const Status status = s.try_apply(step);
  ++counts.steps;
  if (const std::string slow = watch.too_long(); !slow.empty()) return slow;
  if (status.ok()) return s.steps().size() == steps + 1 ? "" : "accepted, but not recorded";
  ++counts.refused;
  if (to_string(s) != before || s.steps().size() != steps) return "refused, but the schedule changed";
  return untyped(status.error());
}

// What is wrong with the program of the whole schedule, or "".
std::string judge(const Sample& sample, const Schedule& s, Counts& counts) {
  const Stopwatch watch;
  ++counts.schedules;
  const Status fine = s.check();
  const auto program = schedule::to_ir(s, sample.args, "kernel", sample.scalars);
  if (const std::string slow = watch.too_long(); !slow.empty()) return "lowering: " + slow;
  if (!fine.ok() && program.ok()) return "check() refuses what to_ir accepts: " + fine.error().render();
  if (!program.ok()) {
    ++counts.whole;
    return untyped(program.error());
  }
  if (!is_small(*program)) return "";
  ++counts.judged;
  const ir::Program naive = te::naive_program(sample.outputs, sample.args, "naive", sample.scalars);
  const ir::Program lowered =
      lower::run_pipeline(lower::passes_for(*program, lower::cpu_passes()), *program, Target::host());
  for (const std::vector<int64_t>& sizes : sample.sizes) {
    const diff::Memory inputs = diff::random_inputs(sample, sizes);
    const diff::Packing packing(sample, s);
    const auto expected =
        diff::interpret(naive, inputs, {.scalars = diff::scalar_values(sample, naive.scalars, sizes)});
    const auto got = packing.run(*program, inputs, sizes, diff::contract(s.nest())),
               last = packing.run(lowered, inputs, sizes);
    if (!diff::takes(sample, s.nest().positive_sizes(), sizes) ||
        (!expected.ok() && diff::refuses_sizes(expected.error()))) {
      for (const auto& run : {got, last})
        if (const std::string found = diff::not_refused(run); !found.empty()) return found;
      continue;
    }
    if (!expected.ok()) return "definition: " + expected.error().render();
    if (!got.ok()) return "loop program: " + got.error().render();
    if (!last.ok()) return "lowered program: " + last.error().render();
    if (const std::string found = difference(sample, *expected, *got); !found.empty()) return "loop program: " + found;
    if (const std::string found = difference(sample, *expected, *last); !found.empty())
      return "lowered program: " + found;
  }
  return "";
}

std::string trial(uint64_t seed, Counts& counts) {
  Random r(seed);
  const Sample sample = diff::draw(seed);
  const auto some = sample.steps.begin() + r.below(static_cast<int64_t>(sample.steps.size()) + 1);
  const auto keep = sample.features.contains("launch") && r.chance(80) ? sample.steps.end() : some;
  Schedule s(sample.outputs);
  for (auto step = sample.steps.begin(); step != keep; ++step) s.apply(*step);
  std::string found, tried;
  const auto outcome = [&](const char* where, const std::string& what) {
    if (found.empty() && !what.empty()) found = std::string(where) + what + "\nsteps: " + tried;
  };
  try {
    for (int n = 0; n < kStepsPerSchedule && found.empty(); ++n) {
      const Step step = random_step(r, s);
      tried = schedule::to_json(s.steps()) + "\nthen " + schedule::to_json({step});
      if (std::getenv("TW_TRACE")) std::fprintf(stderr, "%s\n", tried.c_str());
      outcome("", apply(s, step, counts));
    }
    tried = schedule::to_json(s.steps());
    if (found.empty()) outcome("", judge(sample, s, counts));
  } catch (const std::exception& e) {
    outcome("thrown: ", e.what());
  }
  return found.empty() ? "" : "seed " + std::to_string(seed) + ": " + found + "\n" + diff::describe(sample);
}

TEST(Malformed, StepsAreRefusedOrMeanTheDefinition) {
  const char* wanted = std::getenv("TW_STEPS");
  const char* first = std::getenv("TW_SEED");
  const int steps = wanted ? std::atoi(wanted) : kSteps;
  Counts counts;
  int failures = 0;
  for (uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 5'000'000; counts.steps < steps && failures < 5;
       ++seed) {
    const std::string found =
        support::with_deep_stack([&] { return trial(seed, counts); });  // one for all that it calls
    if (found.empty()) continue;
    ++failures;
    ADD_FAILURE() << found;
  }
  std::printf("%d Steps, %d refused; %d schedules, %d refused as a whole, %d judged by the interpreter\n", counts.steps,
              counts.refused, counts.schedules, counts.whole, counts.judged);
  EXPECT_GT(counts.refused * 10, counts.steps * 5);
  EXPECT_LT(counts.refused * 100, counts.steps * 95);
  EXPECT_GT(counts.judged * 10, counts.schedules * 3);
}

}  // namespace
}  // namespace tw::faults
