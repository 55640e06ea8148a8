#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/support/in_parallel.h"

namespace tw::support {
namespace {

TEST(InParallel, DoesEachPieceOnce) {
  for (const size_t count : {0u, 1u, 3u, 1000u}) {
    for (const size_t threads : {0u, 1u, 4u}) {
      std::vector<std::atomic<int>> calls(count);
      in_parallel(count, threads, [&](size_t i) { ++calls[i]; });
      for (const std::atomic<int>& n : calls) EXPECT_EQ(n, 1);
    }
  }
}

TEST(InParallel, ThrowsWhatAPieceThrowsAndBeginsNoMore) {
  std::atomic<size_t> begun = 0;
  const auto piece = [&](size_t i) {
    ++begun;
    if (i == 2) throw std::runtime_error("the third");
    std::this_thread::sleep_for(std::chrono::microseconds(1));  // or all are done before a busy machine lets it throw
  };
  EXPECT_THROW(in_parallel(1'000'000, 4, piece), std::runtime_error);
  EXPECT_LT(begun, 1'000'000u);
}

int depth(int n) {
  volatile char room[256];
  room[0] = static_cast<char>(n);
  return n == 0 ? 0 : 1 + depth(n - 1) + (room[0] - static_cast<char>(n));
}

TEST(InParallel, EachThreadHasADeepStack) {
  std::atomic<int> sum = 0;
  // 14 MB, more than a thread has otherwise, in fewer frames than the 65,536 that the thread sanitizer can count.
  in_parallel(4, 4, [&](size_t) { sum += depth(50'000); });
  EXPECT_EQ(sum, 200'000);
}

}  // namespace
}  // namespace tw::support
