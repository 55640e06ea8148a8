// The differential test: 2,000 pairs of the fuzzer, and 700 for devices. TW_SAMPLES and TW_SEED widen it or take
// others.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/diff/compiled.h"
#include "tests/diff/emulated.h"
#include "tests/diff/fuzz.h"

namespace tw::diff {
namespace {

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Differential, ScheduledAndCompiledMeanTheDefinition) {
#ifndef TW_LLVM
  std::printf("LLVM at O0 and O3 skipped: built without LLVM\n");
#endif
  FuzzOptions options;
  options.seed = number_from("TW_SEED", 1);
  options.pairs = static_cast<int64_t>(number_from("TW_SAMPLES", 2000));
  options.folder = testing::TempDir() + "tw-fuzz";
  if (!has_c_compiler()) std::printf("C skipped: no C compiler in $CC or on the PATH\n");
  const FuzzResult result = fuzz(options, false);
  for (const Found& f : result.found) ADD_FAILURE() << f.report;
  std::printf("%s%.0f pairs/s\n", coverage_table(result.tally, options.judges).c_str(),
              static_cast<double>(result.tally.pairs) / result.seconds);
  EXPECT_EQ(result.found.empty() ? options.pairs : result.tally.pairs, result.tally.pairs);
  if (options.pairs < 2000) return;  // the shares below hold for the whole test, not for a replay
  EXPECT_EQ(rarely_met(result.tally, options.judges), std::vector<std::string>());
  const auto left_out = result.tally.oracles.find(kLeftOut);
  EXPECT_LE(left_out == result.tally.oracles.end() ? 0 : left_out->second.count * 100, result.tally.pairs);
  EXPECT_GE(result.tally.features.at("uneven") * 3, result.tally.pairs) << "pairs with extents that do not divide";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kLaunchTakes = 5;  // times as long as other samples: a fiber for each thread
#else
constexpr int64_t kLaunchTakes = 1;
#endif

// Of each pair that can be one a launch: in the interpreter, and its text on this machine.
TEST(Differential, LaunchesMeanTheDefinition) {
  FuzzOptions options;
  options.seed = number_from("TW_SEED", 3);
  options.pairs = static_cast<int64_t>(number_from("TW_SAMPLES", 700)) / kLaunchTakes;
  options.devices = 100;
  options.folder = testing::TempDir() + "tw-fuzz";
  options.judges.oracles = {"verify", "barriers", "text", "lowered", "any bits", "cuda-host"};
  if (!has_c_compiler()) std::printf("cuda-host skipped: no C compiler in $CC or on the PATH\n");
  const FuzzResult result = fuzz(options, false);
  for (const Found& f : result.found) ADD_FAILURE() << f.report;
  const int64_t launches = result.tally.features.at("launch");
  const int64_t texts = has_c_compiler() ? result.tally.oracles.at("cuda-host").count : 0;
  std::printf("%lld of %lld pairs are launches, the text of %lld ran, in %.0f s\n", static_cast<long long>(launches),
              static_cast<long long>(result.tally.pairs), static_cast<long long>(texts), result.seconds);
  EXPECT_GE(launches * 3, result.tally.pairs);
  if (has_c_compiler()) {
    EXPECT_GE(texts * 4, result.tally.pairs);
  }
}

TEST(Differential, KernelsForAArch64MeanTheDefinition) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: what is emulated has no sanitizer";
#endif
  if (const std::string why = no_aarch64(); !why.empty()) GTEST_SKIP() << "skipped: " << why;
  FuzzOptions options;
  options.seed = number_from("TW_SEED", 2);
  options.pairs = static_cast<int64_t>(number_from("TW_SAMPLES", 1000));
  options.devices = 0;  // a launch is no kernel of a CPU
  options.folder = testing::TempDir() + "tw-fuzz";
  options.judges = on_aarch64();
  const FuzzResult result = fuzz(options, false);
  for (const Found& f : result.found) ADD_FAILURE() << f.report;
  const Usage emulated = result.tally.oracles.at("aarch64");
  std::printf("%lld of %lld pairs emulated in %.0f s\n", static_cast<long long>(emulated.count),
              static_cast<long long>(result.tally.pairs), result.seconds);
  EXPECT_GE(emulated.count * 10, result.tally.pairs * 7);
}

}  // namespace
}  // namespace tw::diff
