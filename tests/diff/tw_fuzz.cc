// tw-fuzz: random pairs of an expression and a schedule, judged by all oracles.
//
//   tw-fuzz --pairs 100000 --seed 7
//   tw-fuzz --replay build/fuzz/seed-7000000123.py
//   tw-fuzz --oracle aarch64 --cpu neoverse-n1 --pairs 1000
//   tw-fuzz --oracle aarch64 --each-cpu --devices 0 --pairs 20000
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "schedule/to_python.h"
#include "src/support/json_text.h"
#include "tests/diff/automatic.h"
#include "tests/diff/compiled.h"
#include "tests/diff/emulated.h"
#include "tests/diff/fuzz.h"
#include "tests/diff/intrins.h"
#include "tests/diff/script.h"
#include "tests/diff/te_python.h"

namespace tw::diff {
namespace {

int replay(const std::string& path, const Judges& judges) {
  const Sample sample = read_script(path).value_or_throw();
  std::cout << describe(sample);
  const Finding finding = check_isolated(sample, judges);
  std::cout << (finding.wrong() ? "wrong: " + finding.oracle + ": " + finding.text : "all oracles agree") << "\n";
  return finding.wrong();
}

// The sample of one seed as a script, whether it fails or not.
int print_script(uint64_t seed, const FuzzOptions& options) {
  const Sample sample = draw_pair(seed, options.devices);
  std::cout << python_script(sample, check_isolated(sample, options.judges));
  return 0;
}

// Expressions and schedules as Python, and the Steps that running it should make: lines of JSON.
int print_schedules(uint64_t seed, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const Sample sample = draw_pair(seed + static_cast<uint64_t>(i));
    const auto s = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
    const nlohmann::json line{{"te", te_python(sample.outputs, variables(sample)) + python_intrins(sample.steps)},
                              {"schedule", schedule::to_python(s)},
                              {"steps", support::parse_json<nlohmann::json>(schedule::to_json(sample.steps))}};
    std::cout << support::to_text(line) << "\n";
  }
  return 0;
}

int run(const FuzzOptions& options) {
  if (!has_c_compiler()) std::printf("C skipped: no C compiler in $CC or on the PATH\n");
  const FuzzResult result = fuzz(options, true);
  for (const Found& f : result.found) {
    if (!f.report.empty()) std::cout << f.report << "\n";
    std::cout << "found by " << f.finding.oracle << " after " << f.after << " pairs, seed " << f.seed << "\n    "
              << f.finding.text.substr(0, f.finding.text.find('\n')) << "\n";
  }
  std::cout << coverage_table(result.tally, options.judges);
  for (const std::string& name : rarely_met(result.tally, options.judges)) std::cout << "rarely met: " << name << "\n";
  std::printf("%.0f s, %.0f pairs/s with %d workers\n", result.seconds,
              static_cast<double>(result.tally.pairs) / result.seconds, options.workers);
  std::printf("%lld pairs, %zu wrong\n", static_cast<long long>(result.tally.pairs), result.found.size());
  return result.found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tw::diff

int main(int argc, char** argv) {
  tw::diff::FuzzOptions options;
  options.folder = "build/fuzz";
  std::string file;
  std::optional<uint64_t> script;
  bool first = false, schedules = false;
  CLI::App app("Random tensor expressions under random schedules: every oracle must agree.");
  app.add_option("--pairs", options.pairs, "how many pairs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--from", options.from, "the first of them: a batch of another run begins at a multiple of 64")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "which pairs")->capture_default_str();
  app.add_option("--seconds", options.seconds, "stop after so many")->check(CLI::NonNegativeNumber);
  app.add_option("--devices", options.devices, "percent of the pairs that are to be schedules for a device")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_flag("--launches", options.launches, "judge those pairs only that are schedules for a device");
  app.add_option("--workers", options.workers, "processes")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--folder", options.folder, "where scripts of failures go")->capture_default_str();
  app.add_option("--replay", file, "judge the sample of such a script again")->check(CLI::ExistingFile);
  app.add_option("--script", script, "print the script of one pair's seed");
  std::vector<std::string> cpus;
  for (const tw::diff::EmulatedCpu& cpu : tw::diff::emulated_cpus()) cpus.push_back(cpu.name);
  CLI::Option* oracle = app.add_option("--oracle", options.judges.oracles,
                                       "ask these, and those that they need; default: all but aarch64")
                            ->check(CLI::IsMember(tw::diff::all_oracle_names()));
  app.add_option("--cpu", options.judges.cpus,
                 "of the oracle aarch64: what qemu-aarch64 emulates, by turns; default: all")
      ->check(CLI::IsMember(cpus))
      ->needs(oracle);
  app.add_flag("--each-cpu", options.judges.each_cpu, "each pair on all of these CPUs, not by turns")->needs(oracle);
  app.add_flag("--schedules", schedules, "judge nothing: print the pairs as Python");
  app.add_option("--findings", options.findings, "stop after so many failures")->capture_default_str();
  app.add_flag("!--raw", options.minimise, "do not minimise failures");
  app.add_flag("--first", first, "stop at the first failure, and do not minimise it");
  CLI11_PARSE(app, argc, argv);
  if (first) {
    options.findings = 1;
    options.minimise = false;
  }
  const bool emulated = std::find(options.judges.oracles.begin(), options.judges.oracles.end(), "aarch64") !=
                        options.judges.oracles.end();
  if (!emulated) options.judges.cpus.clear();
  if (emulated && options.judges.cpus.empty()) options.judges.cpus = cpus;
  try {
    if (emulated && !tw::diff::no_aarch64().empty())
      throw tw::Error({tw::ErrorKind::kArgument, "--oracle aarch64: " + tw::diff::no_aarch64(), {}, {}});
    if (schedules) return tw::diff::print_schedules(options.seed, options.pairs);
    return !file.empty() ? tw::diff::replay(file, options.judges)
           : script      ? tw::diff::print_script(*script, options)
                         : tw::diff::run(options);
  } catch (const tw::Error& e) {
    std::cerr << e.diagnostic().render() << "\n";
    return 2;
  }
}
