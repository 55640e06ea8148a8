// The differential test: random expressions under random legal schedules mean the same in
//
//   the interpreter on the unscheduled expression = on the lowered program = LLVM at O0 = LLVM at O3.
//
// Integers exactly; floats within a bound of the definition, and bit for bit between lowered program, O0 and O3. Every
// program on the way also survives its text form. TW_SAMPLES and TW_SEED widen or replay it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "src/ir/equal.h"
#include "src/ir/parse.h"
#include "src/ir/verify.h"
#include "src/lower/pipeline.h"
#include "tensorwright/build.h"
#include "tests/diff/sampler.h"

namespace tw::diff {
namespace {

constexpr int kLeastPerFeature = 50;
const std::vector<std::string> kFeatures = {
    "split",      "tile",         "fuse",           "reorder",           "vectorize",   "unroll",    "parallel",
    "compute_at", "compute_root", "compute_inline", "cache_read",        "cache_write", "set_scope", "pragma",
    "tail guard", "tail mask",    "tail peel",      "tail shift_inward", "tail auto"};

std::string text_fault(const char* stage, const ir::Program& program) {
  auto back = ir::parse_program(ir::to_string(program));
  if (!back.ok()) return std::string(stage) + " does not parse: " + back.error().render();
  return ir::equal(*back, program) ? "" : std::string(stage) + " changes in its text form";
}

#ifdef TW_LLVM
Memory run_compiled(const ir::Program& lowered, const Target& target, int opt_level, const Memory& inputs) {
  Memory memory = inputs;
  std::vector<void*> pointers;
  for (auto& bytes : memory) pointers.push_back(bytes.data());
  const auto module = build(lowered, target, opt_level);
  const int32_t code = module->kernel()->run(pointers.data());
  TW_CHECK(code == 0, "the kernel returned " + std::to_string(code));
  return memory;
}

// Bit for bit, but any NaN equals any other.
std::string bit_difference(const Sample& sample, const Memory& expected, const Memory& got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    const ir::Type type = sample.args[i].dtype();
    if (!type.is_float()) return sample.args[i].name() + " differs";
    const size_t width = static_cast<size_t>(type.bytes());
    for (size_t at = 0; at < expected[i].size(); at += width) {
      if (std::memcmp(&expected[i][at], &got[i][at], width) == 0) continue;
      auto value = [&](const std::byte* p) -> double {
        float f = 0;
        double d = 0;
        return width == 8 ? (std::memcpy(&d, p, 8), d) : (std::memcpy(&f, p, 4), f);
      };
      const double a = value(&expected[i][at]), b = value(&got[i][at]);
      if (a == a || b == b)
        return sample.args[i].name() + "[" + std::to_string(at / width) + "] is " + std::to_string(b) + ", not " +
               std::to_string(a);
    }
  }
  return "";
}

std::string compiled_fault(const Sample& sample, const ir::Program& lowered, const Memory& inputs,
                           const Memory& expected) {
  for (int opt_level : {0, 3}) {
    const std::string found =
        bit_difference(sample, expected, run_compiled(lowered, Target::host(), opt_level, inputs));
    if (!found.empty()) return "LLVM at O" + std::to_string(opt_level) + ": " + found;
  }
  return "";
}
#else
std::string compiled_fault(const Sample&, const ir::Program&, const Memory&, const Memory&) { return ""; }
#endif

// What is wrong with a sample, or "".
std::string fault(const Sample& sample) try {
  auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps);
  if (!schedule.ok()) return "replay: " + schedule.error().render();
  auto program = schedule::to_ir(*schedule, sample.args);
  if (!program.ok()) return "refused: " + program.error().render();
  const ir::Program lowered = lower::run_pipeline(*program, Target::host());
  if (Status valid = ir::verify(lowered); !valid.ok()) return "verify: " + valid.error().render();
  for (const auto& [stage, p] : {std::pair{"the loop program", *program}, std::pair{"the lowered program", lowered}}) {
    if (std::string found = text_fault(stage, p); !found.empty()) return found;
  }
  const Memory inputs = random_inputs(sample);
  auto expected = interpret(te::naive_program(sample.outputs, sample.args), inputs);
  if (!expected.ok()) return "definition: " + expected.error().render();
  auto got = interpret(lowered, inputs);
  if (!got.ok()) return "lowered program: " + got.error().render();
  if (std::string found = difference(sample, *expected, *got); !found.empty()) return "lowered program: " + found;
  return compiled_fault(sample, lowered, inputs, *got);
} catch (const std::exception& e) {
  return std::string("exception: ") + e.what();
}

struct Tally {
  std::mutex mutex;
  std::map<std::string, int> features;
  int pairs = 0, placed = 0, proposed = 0, refused = 0;
  std::vector<std::string> failures;

  void add(const Sample& sample, const std::string& failure) {
    std::lock_guard lock(mutex);
    ++pairs;
    for (const std::string& feature : sample.features) ++features[feature];
    placed += sample.features.contains("compute_at") || sample.features.contains("cache_read") ||
              sample.features.contains("cache_write");
    proposed += sample.proposed;
    refused += sample.refused;
    if (!failure.empty()) failures.push_back(failure);
  }
};

// The first pass after which the interpreter does not give the definition's result any more; "to_ir" when no pass is at
// fault.
std::string culprit(const Sample& sample) try {
  auto schedule = schedule::Schedule::from_steps(sample.outputs, sample.steps).value_or_throw();
  ir::Program program = schedule::to_ir(schedule, sample.args).value_or_throw();
  const Memory inputs = random_inputs(sample);
  const Memory expected = interpret(te::naive_program(sample.outputs, sample.args), inputs).value_or_throw();
  auto wrong = [&] {
    auto got = interpret(program, inputs);
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

std::string report(const Sample& sample) {
  const Sample smallest = minimise(sample, [](const Sample& s) { return !fault(s).empty(); });
  return "at fault: " + culprit(smallest) + "\n" + fault(smallest) + "\n" + describe(smallest);
}

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Differential, ScheduledAndCompiledMeanTheDefinition) {
#ifndef TW_LLVM
  std::printf("LLVM at O0 and O3 skipped: built without LLVM\n");
#endif
  const uint64_t from = number_from("TW_SEED", 1'000'000), samples = number_from("TW_SAMPLES", 2000);
  Tally tally;
  std::atomic<uint64_t> next = from;
  std::atomic<int> failed = 0;
  auto work = [&] {
    for (uint64_t seed = next++; seed < from + samples && failed < 3; seed = next++) {
      const Sample sample = draw(seed);
      const bool wrong = !fault(sample).empty();
      failed += wrong;
      tally.add(sample, wrong ? report(sample) : "");
    }
  };
  std::thread other(work);
  work();
  other.join();
  for (const std::string& failure : tally.failures) ADD_FAILURE() << failure;

  for (const auto& [feature, count] : tally.features) std::printf("  %-20s %6d\n", feature.c_str(), count);
  std::printf("%d pairs; %d with compute_at or cache stages; %d of %d proposed Steps refused\n", tally.pairs,
              tally.placed, tally.refused, tally.proposed);
  if (samples < 2000) return;  // the shares below hold for the whole test, not for a replay
  for (const std::string& feature : kFeatures) EXPECT_GE(tally.features[feature], kLeastPerFeature) << feature;
  EXPECT_GE(tally.placed * 100, tally.pairs * 30) << "pairs with compute_at or cache stages";
  EXPECT_GE(tally.features["uneven"] * 2, tally.pairs) << "pairs with extents that do not divide";
  EXPECT_LE(tally.refused * 100, tally.proposed) << "Steps refused";
}

}  // namespace
}  // namespace tw::diff
