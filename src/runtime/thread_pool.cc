#include "src/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>

#include "src/runtime/spinning.h"
#include "src/support/cpu_quota.h"
#include "src/support/environment.h"
#include "src/target/fastest_cores.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {
namespace {

constexpr uint32_t kOpen = 1u << 31;
constexpr int kChunksPerShare = 8;  // small enough to balance, large enough that taking one costs nothing
constexpr int kMostThreads = 1024;

thread_local bool inside_region = false;

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void bind_to_core(pthread_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(thread, sizeof(set), &set);  // best effort: an unbound thread is only slower
}

}  // namespace

// Of threads that the system refuses the others take the shares.
ThreadPool::ThreadPool(int threads, const std::vector<int>& cores) : shares_(static_cast<size_t>(threads)) {
  for (size_t t = 1; t < shares_.size(); ++t) {
    try {
      workers_.emplace_back([this, t] { serve(t); });
    } catch (const std::system_error&) {
      break;
    }
    if (!cores.empty()) bind_to_core(workers_.back().native_handle(), cores[t % cores.size()]);
  }
  if (cores.empty() && allowed_cores().size() == shares_.size()) spread_over_ = allowed_cores();
}

// A worker that is woken is often put on the waker's core and waits there for the scheduler's next balancing, which is
// longer than most kernels run. Where each thread has a core of its own, the workers may run on all but the caller's.
void ThreadPool::keep_off(int core) {
  if (spread_over_.size() < 2 || core == caller_core_) return;
  caller_core_ = core;
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int other : spread_over_)
    if (other != core) CPU_SET(other, &others);
  for (std::thread& worker : workers_) pthread_setaffinity_np(worker.native_handle(), sizeof(others), &others);
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  generation_.fetch_add(1);
  wake_all(generation_);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::cut(int64_t n) {
  const int64_t threads = static_cast<int64_t>(shares_.size());
  const int64_t share = n / threads, rest = n % threads;
  chunk_ = std::max<int64_t>(1, share / kChunksPerShare);
  int64_t begin = 0;
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t end = begin + share + (t < rest ? 1 : 0);
    shares_[t].next.store(begin, std::memory_order_relaxed);
    shares_[t].end = end;
    begin = end;
  }
}

int32_t ThreadPool::run(int64_t n, tw_parallel_body body, void* closure) {
  cut(n);
  keep_off(sched_getcpu());
  body_ = body;
  closure_ = closure;
  code_.store(0, std::memory_order_relaxed);
  parked_.store(false, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  // Sequentially consistent with sleepers_: either we see the sleeper, or it sees the new generation and does not
  // sleep.
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) wake_all(generation_);

  work(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (Spinning spinning; gate_.load(std::memory_order_acquire) != 0;)
    if (!spinning.pause()) sched_yield();
  return code_.load(std::memory_order_relaxed);
}

void ThreadPool::work(size_t first_share) {
  const size_t threads = shares_.size();
  for (size_t i = 0; i < threads; ++i) {
    Share& share = shares_[(first_share + i) % threads];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t begin = share.next.fetch_add(chunk_, std::memory_order_relaxed);
      if (begin >= share.end) break;
      if (code_.load(std::memory_order_relaxed) != 0) return;
      const int32_t code = body_(begin, std::min(begin + chunk_, share.end), closure_);
      int32_t none = 0;
      if (code != 0) code_.compare_exchange_strong(none, code, std::memory_order_relaxed);
    }
  }
}

bool ThreadPool::enter() {
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  while (gate & kOpen)
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) return true;
  return false;
}

void ThreadPool::leave() { gate_.fetch_sub(1, std::memory_order_release); }

void ThreadPool::wait_for_region(uint32_t seen) {
  for (Spinning spinning; !parked_.load(std::memory_order_relaxed) && spinning.pause();)
    if (generation_.load(std::memory_order_relaxed) != seen) return;
  sleepers_.fetch_add(1);
  while (generation_.load() == seen) sleep_while(generation_, seen);
  sleepers_.fetch_sub(1);
}

void ThreadPool::serve(size_t share) {
  inside_region = true;  // whatever a body calls on this thread is nested
  // From zero, so that a worker that starts late still takes part in a region that is open already.
  for (uint32_t seen = 0;;) {
    wait_for_region(seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    if (!enter()) continue;
    work(share);
    leave();
  }
}

namespace {

// The pool of the process. Never destroyed: its threads may outlive static destructors. After fork the child starts
// with a new one, because the old one's threads do not exist there and its lock may be held by a thread that does not
// either.
struct ProcessPool {
  std::mutex busy;
  std::unique_ptr<ThreadPool> pool;
  std::vector<int> cores;  // empty: threads are not bound
};

std::atomic<ProcessPool*> process_pool{nullptr};
std::atomic<int> wanted_threads{0};

void forget_pool_after_fork() {
  process_pool.store(new ProcessPool);
  inside_region = false;
}

ProcessPool& the_pool() {
  static std::once_flag once;
  std::call_once(once, [] {
    process_pool.store(new ProcessPool);
    pthread_atfork(nullptr, nullptr, forget_pool_after_fork);
  });
  return *process_pool.load(std::memory_order_acquire);
}

// A pool that is larger than the quota would use it up early in each period and then stand still.
int threads_from_environment() {
  const double cores = static_cast<double>(allowed_cores().size());
  const int usual = std::max(1, static_cast<int>(std::min(cores, support::cpu_quota())));
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const int64_t threads = support::number_of_environment_or_warning("TW_NUM_THREADS", usual, kMost);
  return static_cast<int>(std::min<int64_t>(threads, kMostThreads));
}

// Expects busy to be held.
ThreadPool& ready_pool(ProcessPool& state, int threads) {
  if (!state.pool || state.pool->threads() != threads) {
    state.pool.reset();
    state.pool = std::make_unique<ThreadPool>(threads, state.cores);
  }
  return *state.pool;
}

}  // namespace

// A set has to have room for all cores that the kernel may have, which are more than a cpu_set_t holds on some.
std::vector<int> allowed_cores() {
  constexpr int kMostCores = 1 << 20;
  std::vector<int> cores;
  for (int most = CPU_SETSIZE; cores.empty() && most <= kMostCores; most *= 2) {
    std::vector<cpu_set_t> sets(static_cast<size_t>(most / CPU_SETSIZE));
    const size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, sets.data()) != 0 && errno != EINVAL) break;
    for (int core = 0; core < most; ++core)
      if (CPU_ISSET_S(static_cast<size_t>(core), bytes, sets.data())) cores.push_back(core);
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

const std::vector<int>& cores_to_measure_on() {
  static const std::vector<int> cores = target::fastest_first(allowed_cores());
  return cores;
}

int num_threads() {
  int threads = wanted_threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    int unset = 0;
    threads = threads_from_environment();
    if (!wanted_threads.compare_exchange_strong(unset, threads)) threads = unset;
  }
  return threads;
}

void set_num_threads(int n) {
  if (n < 1 || n > kMostThreads) {
    Diagnostic d{ErrorKind::kArgument,
                 "set_num_threads: n must be 1 to " + std::to_string(kMostThreads) + ", not " + std::to_string(n),
                 {},
                 {}};
    throw Error(std::move(d));
  }
  wanted_threads.store(n);
}

void park_threads() {
  ProcessPool& state = the_pool();
  // While a region runs there is nobody to park.
  if (std::unique_lock lock(state.busy, std::try_to_lock); lock && state.pool) state.pool->park();
}

void start_pinned(int threads) {
  ProcessPool& state = the_pool();
  std::lock_guard lock(state.busy);
  const std::vector<int>& cores = cores_to_measure_on();
  if (threads <= static_cast<int>(cores.size())) {
    state.cores = cores;
    bind_to_core(pthread_self(), cores[0]);
  }
  wanted_threads.store(threads);
  state.pool.reset();
  ready_pool(state, threads);
}

int32_t parallel_for(int64_t n, tw_parallel_body body, void* closure) {
  if (n <= 0) return 0;
  const int threads = num_threads();
  if (n == 1 || threads == 1 || inside_region) return body(0, n, closure);
  ProcessPool& state = the_pool();
  std::unique_lock lock(state.busy, std::try_to_lock);
  if (!lock) return body(0, n, closure);
  ThreadPool& pool = ready_pool(state, threads);
  inside_region = true;
  const int32_t code = pool.run(n, body, closure);
  inside_region = false;
  return code;
}

}  // namespace tw::runtime
