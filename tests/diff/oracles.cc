#include "tests/diff/oracles.h"

#include <sys/resource.h>

#include <algorithm>

#include "src/ir/walk.h"
#include "src/lower/launches.h"
#include "src/lower/pipeline.h"
#include "src/runtime/kernel.h"
#include "src/support/deep_stack.h"
#include "tests/diff/compiled.h"
#include "tests/diff/emulated.h"
#include "tests/diff/reference.h"
#include "tests/diff/trial.h"

namespace tw::diff {

namespace {

std::string runs_alike(const Trial& t, const runtime::Kernel& kernel) {
  const std::vector<Argument> arguments = arguments_of(t.sample);
  for (const Call& call : calls_of(t)) {
    // Without optimization each value of a long body has a place of its own on the stack.
    Ran ran = support::with_deep_stack([&] { return run_fenced(kernel, arguments, call.packed, call.scalars); });
    const std::string found = judged(t, call, std::move(ran));
    if (!found.empty()) return at_sizes(t.sample, call.run.sizes) + found;
  }
  return "";
}

struct Compiled {
  const char* name;
  int percent;  // of the samples
  Kernels (*compile)(const std::vector<ir::Program>&);
  bool (*suits)(const ir::Program&) = [](const ir::Program&) { return true; };
};
constexpr Compiled kCompiled[] = {
#ifdef TW_LLVM
    {"LLVM O0", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 0); }},
    {"LLVM O3", 100, [](const std::vector<ir::Program>& p) { return compile_llvm(p, 3); }},
#endif
    {"C with vectors", 2, [](const std::vector<ir::Program>& p) { return compile_c(p, true); }, suits_c},
    {"C", 1, [](const std::vector<ir::Program>& p) { return compile_c(p, false); }, suits_c},
};

bool available(const Compiled& oracle) {
  static const bool c = has_c_compiler();
  return c || oracle.name[0] != 'C';
}

bool asked(const Judges& judges, const std::string& oracle) {
  return judges.oracles.empty()
             ? oracle != kAArch64
             : std::find(judges.oracles.begin(), judges.oracles.end(), oracle) != judges.oracles.end();
}

// By name, or by one that compares with what it makes.
bool asked(const Judges& judges, const Interpreted& oracle) {
  const auto is_compiled = [&](const Compiled& one) { return asked(judges, std::string(one.name)); };
  return oracle.needed_by == NeededBy::kAll || asked(judges, std::string(oracle.name)) ||
         (oracle.needed_by == NeededBy::kCompiled && std::ranges::any_of(kCompiled, is_compiled));
}

bool takes_part(const Sample& sample, int percent) { return static_cast<int>(sample.recipe.seed % 100) < percent; }

void interpret_all(Trial& t, const Judges& judges, Usages& usages) {
  for (const Interpreted& oracle : interpreted_oracles()) {
    if (!takes_part(t.sample, oracle.percent) || !asked(judges, oracle)) continue;
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
  if (t.left_out > 0) usages[kLeftOut].count += t.left_out;
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

double Clock::processor_seconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return seconds;
}

Judges on_aarch64() {
  Judges judges{{kAArch64}, {}};
  for (const EmulatedCpu& cpu : emulated_cpus()) judges.cpus.push_back(cpu.name);
  return judges;
}

std::vector<std::string> oracle_names(const Judges& judges) {
  std::vector<std::string> names;
  for (const Interpreted& oracle : interpreted_oracles())
    if (asked(judges, oracle)) names.push_back(oracle.name);
  for (const Compiled& oracle : kCompiled)
    if (available(oracle) && asked(judges, oracle.name)) names.push_back(oracle.name);
  if (has_c_compiler() && asked(judges, kCudaHost)) names.push_back(kCudaHost);
  if (asked(judges, kAArch64)) names.push_back(kAArch64);
  return names;
}

std::vector<std::string> all_oracle_names() {
  std::vector<std::string> names;
  for (const Interpreted& oracle : interpreted_oracles()) names.push_back(oracle.name);
  for (const Compiled& oracle : kCompiled) names.push_back(oracle.name);
  names.push_back(kCudaHost);
  names.push_back(kAArch64);
  return names;
}

std::vector<Finding> check(std::span<const Sample> samples, const Judges& judges, Usages& usages) {
  std::vector<Trial> trials;
  for (const Sample& sample : samples) trials.push_back({sample, {}, {}, {}, {}, {}, {}, 0, {}});
  for (Trial& t : trials) interpret_all(t, judges, usages);
  for (const Compiled& oracle : kCompiled) {
    if (!available(oracle) || !asked(judges, oracle.name)) continue;
    std::vector<Trial*> chosen;
    for (Trial& t : trials)
      if (!t.finding.wrong() && takes_part(t.sample, oracle.percent) && !lower::holds_launch(t.lowered) &&
          oracle.suits(t.lowered))
        chosen.push_back(&t);
    if (chosen.empty()) continue;
    const Clock clock(usages, oracle.name, static_cast<int64_t>(chosen.size()));
    compile_and_run(chosen, oracle);
  }
  if (has_c_compiler() && asked(judges, kCudaHost)) run_texts_of(trials, usages);
  if (asked(judges, kAArch64) && !trials.empty()) {
    const size_t turn = samples[0].recipe.seed / kEmulatedBatch % judges.cpus.size();
    for (size_t i = 0; i < judges.cpus.size(); ++i)
      if (judges.each_cpu || i == turn) emulate(trials, judges.cpus[i], usages);
  }
  std::vector<Finding> findings;
  for (Trial& t : trials) findings.push_back(t.finding);
  return findings;
}

Finding check(const Sample& sample, const Judges& judges) {
  Usages usages;
  return check({&sample, 1}, judges, usages).front();
}

std::string culprit(const Sample& sample) try {
  const auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
  ir::Program program = schedule::to_ir(schedule, sample.args, "kernel", sample.scalars).value_or_throw();
  Trial t{sample, {}, {}, schedule.nest().positive_sizes(), {}, {}, {}, 0, {}};
  if (!defined(t).empty()) return "the definition";
  t.packing = Packing(sample, schedule);
  const auto wrong = [&] {
    return !each_run(t, [&](Run& run) {
              const auto got = t.packing.run(program, run.inputs, run.sizes);
              if (run.refused) return not_refused(got);
              return got.ok() ? difference(sample, run.expected, *got) : got.error().render();
            }).empty();
  };
  if (wrong()) return "to_ir";
  for (const lower::Pass& pass : lower::passes_for(program, lower::cpu_passes())) {
    program = pass.function(program, Target::host());
    if (wrong()) return pass.name;
  }
  return "code generation";
} catch (const std::exception& e) {
  return std::string("an exception: ") + e.what();
}

}  // namespace tw::diff
