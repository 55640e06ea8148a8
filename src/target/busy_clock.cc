#include "src/target/busy_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tw::target {
namespace {

constexpr int kChain = 16, kTurns = 1 << 12;
constexpr int kRepeats = 512;  // 20 us each: longer together than another process keeps the core

// A chain of additions, one cycle each on every core that this runs on: the empty statement keeps the compiler from
// joining two of them, and a register as the addend keeps the core from doing so. Unrolled, for a branch that is taken
// costs some cores more than the addition: a Zen 1 would be measured a fifth too slow.
double cycles_per_second() {
  uint64_t x = 1, y = 3;
  const auto begin = std::chrono::steady_clock::now();
  for (int turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 16
    for (int i = 0; i < kChain; ++i) {
      x += y;
      asm volatile("" : "+r"(x), "+r"(y));
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return kChain * static_cast<double>(kTurns) / took.count();
}

}  // namespace

// The best of several: whoever else wants the core only makes it look slower.
double clock_now(int looks) {
  double best = 0;
  for (int i = 0; i < looks; ++i) best = std::max(best, cycles_per_second());
  return best;
}

double busy_clock() {
  static const double hertz = clock_now(kRepeats);
  return hertz;
}

}  // namespace tw::target
