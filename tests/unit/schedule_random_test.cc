// Random expressions with random legal schedules: the scheduled loop program gives what the definition gives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "src/ir/verify.h"
#include "tests/diff/packing.h"
#include "tests/diff/sampler.h"

namespace tw::diff {
namespace {

// Stores of a loop program, which a place deep inside another stage's loops can multiply: then it is not waited for.
constexpr int64_t kMostSteps = 20'000'000;

// What is wrong with the loop program of a sample, or "". `unfinished` counts those that were not waited for.
std::string fault(const Sample& sample, int& unfinished) {
  auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps);
  if (!schedule.ok()) return "replay: " + schedule.error().render();
  auto program = schedule::to_ir(*schedule, sample.args, "kernel", sample.scalars);
  if (!program.ok()) return "refused: " + program.error().render();
  if (Status valid = ir::verify(*program); !valid.ok()) return "verify: " + valid.error().render();
  const ir::Program naive = te::naive_program(sample.outputs, sample.args, "naive", sample.scalars);
  for (const std::vector<int64_t>& sizes : sample.sizes) {
    Memory inputs = random_inputs(sample, sizes);
    auto expected = interpret(naive, inputs, {.scalars = scalar_values(sample, naive.scalars, sizes)});
    ir::InterpOptions options = contract(schedule->nest());
    options.max_steps = kMostSteps;
    auto got = Packing(sample, *schedule).run(*program, inputs, sizes, options);
    if (!got.ok() && got.error().what == ir::stopped_after(kMostSteps)) {
      ++unfinished;
      return "";
    }
    if (!takes(sample, schedule->nest().positive_sizes(), sizes) ||
        (!expected.ok() && refuses_sizes(expected.error()))) {
      if (std::string found = not_refused(got); !found.empty()) return found;
      continue;
    }
    if (!expected.ok()) return "definition: " + expected.error().render();
    if (!got.ok()) return "schedule: " + got.error().render();
    if (std::string found = difference(sample, *expected, *got); !found.empty()) return found;
  }
  return "";
}

std::string report(const Sample& sample) {
  int unfinished = 0;
  Sample smallest = minimise(sample, [&](const Sample& s) { return !fault(s, unfinished).empty(); });
  auto schedule = schedule::Schedule::from_steps(smallest.outputs, smallest.steps);
  auto program = schedule::to_ir(*schedule, smallest.args, "kernel", smallest.scalars);
  return fault(smallest, unfinished) + "\n" + describe(smallest) + (program.ok() ? ir::to_string(*program) : "");
}

TEST(ScheduleRandom, MeaningIsKept) {
  const char* count = std::getenv("TW_SAMPLES");
  const char* first = std::getenv("TW_SEED");
  uint64_t from = first ? std::strtoull(first, nullptr, 10) : 1;
  uint64_t samples = count ? std::strtoull(count, nullptr, 10) : 1500;
  std::map<std::string, int> features;
  int proposed = 0, refused = 0, failures = 0, unfinished = 0;
  for (uint64_t seed = from; seed < from + samples && failures < 5; ++seed) {
    Sample sample = draw(seed);
    proposed += sample.proposed;
    refused += sample.refused;
    for (const std::string& feature : sample.features) ++features[feature];
    for (const std::string& refusal : sample.refusals) ADD_FAILURE() << "seed " << seed << ": " << refusal;
    if (!fault(sample, unfinished).empty()) {
      ++failures;
      ADD_FAILURE() << report(sample);
    }
  }
  for (const auto& [feature, n] : features) std::printf("%-20s %d\n", feature.c_str(), n);
  std::printf("%d Steps proposed, %d refused; %d samples unfinished\n", proposed, refused, unfinished);
  EXPECT_LE(static_cast<uint64_t>(unfinished), 1 + samples / 100);
}

}  // namespace
}  // namespace tw::diff
