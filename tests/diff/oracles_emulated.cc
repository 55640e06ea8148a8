// The lowered programs for another CPU, run under an emulator.
#include <algorithm>

#include "src/ir/externs.h"
#include "src/lower/launches.h"
#include "src/support/temporary_folder.h"
#include "tests/diff/emulated.h"
#include "tests/diff/trial.h"

namespace tw::diff {

namespace {

// One batch in four is made without optimization, the one of these seeds.
int level_for(const Trial& t) { return t.sample.recipe.seed / kEmulatedBatch % 4 == 0 ? 0 : 3; }

// All programs in one object, and all calls in one process.
void run_on(const EmulatedCpu& cpu, const Target& target, std::span<Trial> trials) {
  std::vector<ir::Program> programs;
  std::vector<std::vector<Call>> calls;
  std::vector<Job> jobs;
  for (const Trial& t : trials) {
    calls.push_back(calls_of(t));
    for (const Call& call : calls.back())
      jobs.push_back({"k" + std::to_string(programs.size()), arguments_of(t.sample), call.packed, call.scalars});
    programs.push_back(t.lowered);
  }
  const support::TemporaryFolder folder("tensorwright-fuzz");
  compile_for(target, programs, folder / "kernels.so", level_for(trials[0]));
  std::vector<Ran> results = run_emulated(cpu, folder / "kernels.so", std::move(jobs));
  for (size_t i = 0, job = 0; i < trials.size(); ++i)
    for (const Call& call : calls[i])
      if (const std::string text = judged(trials[i], call, std::move(results[job++]));
          !text.empty() && !trials[i].finding.wrong())
        trials[i].finding = {kAArch64, at_sizes(trials[i].sample, call.run.sizes) + text};
}

// Together; where that fails, one by one, to see whose fault it is.
void compile_and_run_on(const EmulatedCpu& cpu, const Target& target, std::span<Trial> trials) try {
  if (!trials.empty()) run_on(cpu, target, trials);
} catch (const std::exception& e) {
  if (trials.size() == 1)
    trials[0].finding = {kAArch64, std::string("exception: ") + e.what()};
  else
    for (Trial& t : trials) compile_and_run_on(cpu, target, {&t, 1});
}

}  // namespace

void emulate(std::vector<Trial>& trials, const std::string& cpu_name, Usages& usages) {
  const auto& cpu = *std::find_if(emulated_cpus().begin(), emulated_cpus().end(),
                                  [&](const EmulatedCpu& c) { return c.name == cpu_name; });
  const Target target = Target::parse(cpu.target).value_or_throw();
  std::vector<Trial> there;
  std::vector<Trial*> here;
  for (Trial& t : trials) {
    if (t.finding.wrong() || t.runs.empty() || lower::holds_launch(t.lowered) || !ir::extern_symbols(t.lowered).empty())
      continue;
    Trial other = trial_for(t, target, kAArch64);
    t.finding = other.finding;
    if (t.finding.wrong() || other.runs.empty()) continue;
    there.push_back(std::move(other));
    here.push_back(&t);
  }
  const Clock clock(usages, kAArch64, static_cast<int64_t>(there.size()));
  compile_and_run_on(cpu, target, there);
  for (size_t i = 0; i < there.size(); ++i)
    if (there[i].finding.wrong()) here[i]->finding = {kAArch64, cpu_name + ": " + there[i].finding.text};
}

}  // namespace tw::diff
