// The differential test: 2,000 pairs of the fuzzer. TW_SAMPLES and TW_SEED widen it or take others.
#include <gtest/gtest.h>

#include <cstdlib>

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
  const FuzzResult result = fuzz(options, false);
  for (const Found& f : result.found) ADD_FAILURE() << f.report;
  std::printf("%s%.0f pairs/s\n", coverage_table(result.tally).c_str(),
              static_cast<double>(result.tally.pairs) / result.seconds);
  EXPECT_EQ(result.found.empty() ? options.pairs : result.tally.pairs, result.tally.pairs);
  if (options.pairs < 2000) return;  // the shares below hold for the whole test, not for a replay
  EXPECT_EQ(rarely_met(result.tally), std::vector<std::string>());
  const auto left_out = result.tally.oracles.find(kLeftOut);
  EXPECT_LE(left_out == result.tally.oracles.end() ? 0 : left_out->second.count * 100, result.tally.pairs);
  EXPECT_GE(result.tally.features.at("uneven") * 3, result.tally.pairs) << "pairs with extents that do not divide";
}

}  // namespace
}  // namespace tw::diff
