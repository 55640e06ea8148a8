// The threads that run parallel loops: persistent, woken in microseconds, asleep when nothing comes.
//
// A loop over 0..n is cut into one contiguous share per thread, so that repeated calls find their data in the same
// core's cache; a thread that has finished its share takes chunks of the others'. The caller takes part as thread 0 and
// does not wait for a thread that has not woken up by the time the work is gone.
//
// Nested loops, and loops of other user threads while the pool is busy, run serially on their own thread: nothing waits
// for the pool, so nothing can deadlock. After fork the child makes a pool of its own at its first parallel loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tensorwright/kernel_abi.h"

namespace tw::runtime {

class ThreadPool {
 public:
  // `threads` counts the caller. With `cores`, thread t is bound to cores[t % size] (the caller is not: bind it
  // yourself).
  explicit ThreadPool(int threads, const std::vector<int>& cores = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(shares_.size()); }
  // One caller at a time. The first non-zero code of body, or 0; after an error, chunks not yet begun are skipped.
  int32_t run(int64_t n, tw_parallel_body body, void* closure);
  // Idle threads go to sleep now instead of after their short spin.
  void park() { parked_.store(true, std::memory_order_relaxed); }

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  void work(size_t first_share);
  void serve(size_t share);
  void wait_for_region(uint32_t seen);
  bool enter();
  void leave();
  void cut(int64_t n);
  void keep_off(int core);

  std::vector<Share> shares_;
  std::vector<std::thread> workers_;
  std::vector<int> spread_over_;  // the cores, where there is just one for each thread; else empty
  int caller_core_ = -1;          // where the caller ran when the workers were last told to keep off

  tw_parallel_body body_ = nullptr;
  void* closure_ = nullptr;
  int64_t chunk_ = 1;
  std::atomic<int32_t> code_{0};

  // Counts regions; workers sleep on it.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> parked_{false}, stopping_{false};
  // The top bit: a region is open. The rest: how many workers are inside. Region data changes only while both are zero.
  alignas(64) std::atomic<uint32_t> gate_{0};
};

// parallel_for of the process-wide pool, made at the first use with num_threads() threads.
int32_t parallel_for(int64_t n, tw_parallel_body body, void* closure);

// The cores that this process may run on.
std::vector<int> allowed_cores();
// These with the fastest first, as they are at the first call: the system's files say which those are.
const std::vector<int>& cores_to_measure_on();
// Makes the pool now, with its threads bound to those and the calling thread to the first of them.
void start_pinned(int threads);

}  // namespace tw::runtime
