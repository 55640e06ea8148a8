// How long a thread that waits spins before it leaves the core to others: about 50 us, longer than the gap between two
// kernels that are called in a row.
#pragma once

#include <cstdint>

namespace tw::runtime {

#if defined(__aarch64__)

// By the clock: cores differ too much in what a hint takes, and YIELD is nothing on those with one thread. ISB waits
// until the pipeline is empty, which leaves the memory system to the others for some 10 ns.
class Spinning {
 public:
  // Waits a moment. False, and at once, when the time is over.
  bool pause() {
    if (ticks() >= end_) return false;
    asm volatile("isb" ::: "memory");
    return true;
  }

 private:
  static constexpr uint64_t kPerSecond = 20'000;
  static uint64_t ticks() {
    uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
  }
  static uint64_t frequency() {
    uint64_t hertz;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
    return hertz;
  }

  uint64_t end_ = ticks() + frequency() / kPerSecond;
};

#else

class Spinning {
 public:
  // Waits a moment. False, and at once, when the time is over.
  bool pause() {
    if (left_ == 0) return false;
    --left_;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    return true;
  }

 private:
  int left_ = 3000;
};

#endif

}  // namespace tw::runtime
