#include <gtest/gtest.h>

#include "schedule/bank_wavefronts.h"

namespace tw::schedule {
namespace {

// A warp's threads, each `apart` bytes after the one before.
int64_t wavefronts(int64_t apart, int64_t width, int threads = 32) {
  std::vector<int64_t> at;
  for (int64_t thread = 0; thread < threads; ++thread) at.push_back(thread * apart);
  return bank_wavefronts(at, width);
}

TEST(BankWavefronts, NeighboursTakeOne) {
  EXPECT_EQ(wavefronts(4, 4), 1);
  EXPECT_EQ(wavefronts(1, 1), 1);
  EXPECT_EQ(wavefronts(2, 2), 1);
  EXPECT_EQ(wavefronts(4, 4, 7), 1);
}

TEST(BankWavefronts, OneWordForAllTakesOne) {
  EXPECT_EQ(wavefronts(0, 4), 1);
  EXPECT_EQ(wavefronts(0, 16), 1);
}

TEST(BankWavefronts, StridesMeetInBanks) {
  EXPECT_EQ(wavefronts(8, 4), 2);
  EXPECT_EQ(wavefronts(128, 4), 32);
  EXPECT_EQ(wavefronts(132, 4), 1);
  EXPECT_EQ(wavefronts(12, 4), 1);  // any odd number of words
}

TEST(BankWavefronts, WideAccessesComeInParts) {
  EXPECT_EQ(wavefronts(8, 8), 2);
  EXPECT_EQ(wavefronts(16, 16), 4);
  EXPECT_EQ(wavefronts(32, 16), 8);
  EXPECT_EQ(wavefronts(144, 16), 4);   // rows of 128 bytes and 16 more
  EXPECT_EQ(wavefronts(128, 16), 32);  // eight threads of a part, all in four banks
}

}  // namespace
}  // namespace tw::schedule
