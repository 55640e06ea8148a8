#include "tests/diff/oracles.h"

#include <chrono>
#include <cstdio>

#include "src/ir/equal.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "src/lower/pipeline.h"
#include "tests/diff/compiled.h"

namespace tw::diff {

namespace {

// A sample on its way through the oracles.
struct Trial {
  const Sample& sample;
  ir::Program scheduled, lowered;
  Memory inputs, expected, got;  // got: by the lowered program
  Memory wild, wild_got;         // on any bits; empty for most samples
  Finding finding;
};

constexpr int kWildPercent = 25;

std::string text_fault(const ir::Program& program) {
  const auto back = ir::parse_program(ir::to_string(program));
  if (!back.ok()) return "does not parse: " + back.error().render() + "\n" + ir::to_string(program);
  return ir::equal(*back, program) ? "" : "changes in its text form:\n" + ir::to_string(program);
}

std::string made(Trial& t) {
  for (const std::string& refusal : t.sample.refusals) return "refused: " + refusal;
  const auto steps = schedule::steps_from_json(schedule::to_json(t.sample.steps));
  if (!steps.ok()) return "JSON: " + steps.error().render();
  auto schedule = schedule::Schedule::from_steps(t.sample.outputs, *steps);
  if (!schedule.ok()) return "replay: " + schedule.error().render();
  auto program = schedule::to_ir(*schedule, t.sample.args);
  if (!program.ok()) return "refused: " + program.error().render();
  t.scheduled = *program;
  t.lowered = lower::run_pipeline(*program, Target::host());
  return "";
}

std::string verified(Trial& t) {
  if (const Status valid = ir::verify(t.scheduled); !valid.ok()) return "loop program: " + valid.error().render();
  if (const Status valid = ir::verify(t.lowered); !valid.ok()) return "lowered program: " + valid.error().render();
  return "";
}

std::string survives_text(Trial& t) {
  const std::string found = text_fault(t.scheduled);
  return found.empty() ? text_fault(t.lowered) : found;
}

std::string defined(Trial& t) {
  t.inputs = random_inputs(t.sample);
  const auto expected = interpret(te::naive_program(t.sample.outputs, t.sample.args), t.inputs);
  if (!expected.ok()) return expected.error().render();
  t.expected = *expected;
  return "";
}

std::string scheduled(Trial& t) {
  const auto got = interpret(t.scheduled, t.inputs, {.check_one_value = true});
  return got.ok() ? difference(t.sample, t.expected, *got) : got.error().render();
}

std::string lowered(Trial& t) {
  const auto got = interpret(t.lowered, t.inputs);
  if (!got.ok()) return got.error().render();
  t.got = *got;
  return difference(t.sample, t.expected, *got);
}

std::string lowered_wild(Trial& t) {
  if (static_cast<int>(t.sample.recipe.seed % 100) >= kWildPercent) return "";
  t.wild = wild_inputs(t.sample);
  const auto got = interpret(t.lowered, t.wild);
  if (!got.ok()) return got.error().render();
  t.wild_got = *got;
  return "";
}

std::string runs_alike(const Trial& t, const runtime::Kernel& kernel) {
  for (const auto& [inputs, expected] : {std::pair{&t.inputs, &t.got}, std::pair{&t.wild, &t.wild_got}}) {
    if (inputs->empty()) continue;
    const Ran ran = run(kernel, t.sample, *inputs);
    if (!ran.damage.empty()) return ran.damage;
    if (const std::string found = bit_difference(t.sample, *expected, ran.memory); !found.empty())
      return (inputs == &t.wild ? "any bits: " : "") + found;
  }
  return "";
}

struct Interpreted {
  const char* name;
  std::string (*judge)(Trial&);
};
constexpr Interpreted kInterpreted[] = {
    {"schedule", made},           // legal Steps are accepted, survive JSON, and lower
    {"verify", verified},         // invariants of the loop program and the lowered program
    {"text", survives_text},      // both survive printing and parsing
    {"definition", defined},      // the interpreter runs the unscheduled expression
    {"loop program", scheduled},  // = the definition; each element is given one value
    {"lowered", lowered},         // = the definition
    {"any bits", lowered_wild},   // the lowered program on NaNs and the like: what the compiled ones are compared with
};

struct Compiled {
  const char* name;
  int percent;  // of the samples
  Kernels (*compile)(const std::vector<ir::Program>&);
};
constexpr Compiled kCompiled[] = {
#ifdef TW_LLVM
    {"LLVM O0", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 0); }},
    {"LLVM O3", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 3); }},
#endif
    {"C with vectors", 2, [](const std::vector<ir::Program>& p) { return compile_c(p, true); }},
    {"C", 1, [](const std::vector<ir::Program>& p) { return compile_c(p, false); }},
};

bool available(const Compiled& oracle) {
  static const bool c = has_c_compiler();
  return c || oracle.name[0] != 'C';
}

class Clock {
 public:
  Clock(Usages& usages, const char* oracle, int64_t count) : usage_(usages[oracle]) { usage_.count += count; }
  ~Clock() { usage_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  Usage& usage_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void interpret_all(Trial& t, Usages& usages) {
  for (const Interpreted& oracle : kInterpreted) {
    const Clock clock(usages, oracle.name, 1);
    std::string text;
    try {
      text = oracle.judge(t);
    } catch (const std::exception& e) {
      text = std::string("exception: ") + e.what();
    }
    if (text.empty()) continue;
    t.finding = {oracle.name, text};
    return;
  }
}

// Together; where that fails, one by one, to see whose fault it is.
void compile_and_run(std::span<Trial*> trials, const Compiled& oracle) {
  std::vector<ir::Program> programs;
  for (const Trial* t : trials) programs.push_back(t->lowered);
  try {
    const Kernels kernels = oracle.compile(programs);
    for (size_t i = 0; i < trials.size(); ++i) {
      const std::string text = runs_alike(*trials[i], *kernels[i]);
      if (!text.empty()) trials[i]->finding = {oracle.name, text};
    }
  } catch (const std::exception& e) {
    if (trials.size() == 1)
      trials[0]->finding = {oracle.name, std::string("exception: ") + e.what()};
    else
      for (Trial*& t : trials) compile_and_run({&t, 1}, oracle);
  }
}

}  // namespace

const std::vector<std::string>& oracle_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Interpreted& oracle : kInterpreted) all.push_back(oracle.name);
    for (const Compiled& oracle : kCompiled) {
      if (available(oracle))
        all.push_back(oracle.name);
      else
        std::printf("%s skipped: no C compiler in $CC or on the PATH\n", oracle.name);
    }
    return all;
  }();
  return names;
}

std::vector<Finding> check(std::span<const Sample> samples, Usages& usages) {
  std::vector<Trial> trials;
  for (const Sample& sample : samples) trials.push_back({sample, {}, {}, {}, {}, {}, {}, {}, {}});
  for (Trial& t : trials) interpret_all(t, usages);
  for (const Compiled& oracle : kCompiled) {
    if (!available(oracle)) continue;
    std::vector<Trial*> chosen;
    for (Trial& t : trials)
      if (!t.finding.wrong() && static_cast<int>(t.sample.recipe.seed % 100) < oracle.percent) chosen.push_back(&t);
    if (chosen.empty()) continue;
    const Clock clock(usages, oracle.name, static_cast<int64_t>(chosen.size()));
    compile_and_run(chosen, oracle);
  }
  std::vector<Finding> findings;
  for (Trial& t : trials) findings.push_back(t.finding);
  return findings;
}

Finding check(const Sample& sample) {
  Usages usages;
  return check({&sample, 1}, usages).front();
}

std::string culprit(const Sample& sample) try {
  const auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
  ir::Program program = schedule::to_ir(schedule, sample.args).value_or_throw();
  const Memory inputs = random_inputs(sample);
  const Memory expected = interpret(te::naive_program(sample.outputs, sample.args), inputs).value_or_throw();
  const auto wrong = [&] {
    const auto got = interpret(program, inputs);
    return !got.ok() || !difference(sample, expected, *got).empty();
  };
  if (wrong()) return "to_ir";
  for (const lower::Pass& pass : lower::passes()) {
    program = pass.function(program, Target::host());
    if (wrong()) return pass.name;
  }
  return "code generation";
} catch (const std::exception& e) {
  return std::string("an exception: ") + e.what();
}

}  // namespace tw::diff
