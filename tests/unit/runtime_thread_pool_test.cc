#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "src/runtime/thread_pool.h"
#include "tensorwright/runtime.h"
#include "tests/unit/little_memory.h"

namespace tw::runtime {
namespace {

struct Counts {
  std::vector<std::atomic<int>> visits;
  explicit Counts(int64_t n) : visits(static_cast<size_t>(n)) {}
  static int32_t body(int64_t begin, int64_t end, void* self) {
    for (int64_t i = begin; i < end; ++i) static_cast<Counts*>(self)->visits[static_cast<size_t>(i)]++;
    return 0;
  }
  bool all(int times) const {
    for (const auto& v : visits)
      if (v != times) return false;
    return true;
  }
};

struct Threads {
  int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};

TEST(ThreadPool, VisitsEachIterationOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const Threads use(threads);
    for (const int64_t n : {0, 1, 2, 3, 7, 64, 1000, 4097}) {
      Counts counts(n);
      EXPECT_EQ(parallel_for(n, Counts::body, &counts), 0);
      EXPECT_TRUE(counts.all(1)) << threads << " threads, n = " << n;
    }
  }
}

// A limit on the address space refuses a thread its stack, as one on processes refuses the thread.
TEST(ThreadPool, GoesOnWithTheThreadsThatItGets) {
  if (*test::no_little_memory()) GTEST_SKIP() << "skipped: " << test::no_little_memory();
  const auto counts_right = [] {
    set_num_threads(1000);
    Counts counts(4097);
    const bool done = parallel_for(4097, Counts::body, &counts) == 0 && counts.all(1);
    return done && parallel_for(4097, Counts::body, &counts) == 0 && counts.all(2) ? 0 : 1;
  };
  EXPECT_EQ(test::returned_within(size_t{1} << 28, counts_right), 0);
}

TEST(ThreadPool, GivesTheErrorOfABody) {
  const Threads use(4);
  const auto fails_at_5 = [](int64_t begin, int64_t end, void*) -> int32_t { return begin <= 5 && 5 < end ? 42 : 0; };
  for (int round = 0; round < 100; ++round) EXPECT_EQ(parallel_for(16, fails_at_5, nullptr), 42);
  Counts counts(16);
  EXPECT_EQ(parallel_for(16, Counts::body, &counts), 0);
}

TEST(ThreadPool, NestedLoopsRunSeriallyOnTheSameThread) {
  const Threads use(4);
  static std::atomic<int> elsewhere;
  elsewhere = 0;
  const auto outer = [](int64_t begin, int64_t end, void*) -> int32_t {
    std::thread::id self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      parallel_for(
          8,
          [](int64_t, int64_t, void* id) -> int32_t {
            if (*static_cast<std::thread::id*>(id) != std::this_thread::get_id()) ++elsewhere;
            return 0;
          },
          &self);
    return 0;
  };
  EXPECT_EQ(parallel_for(16, outer, nullptr), 0);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, SeveralUserThreadsAtOnce) {
  const Threads use(3);
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int u = 0; u < 6; ++u)
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        Counts counts(37);
        parallel_for(37, Counts::body, &counts);
        if (!counts.all(1)) ++wrong;
        if (round % 50 == 0) set_num_threads(2 + round / 50 % 3);
      }
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, WorksAfterFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads after fork";
#endif
  const Threads use(4);
  Counts before(100);
  parallel_for(100, Counts::body, &before);
  const pid_t child = fork();
  if (child == 0) {
    Counts counts(100);
    parallel_for(100, Counts::body, &counts);
    _exit(counts.all(1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Counts after(100);
  parallel_for(100, Counts::body, &after);
  EXPECT_TRUE(after.all(1));
}

TEST(ThreadPool, ParkedThreadsWakeAgain) {
  const Threads use(2);
  for (int round = 0; round < 20; ++round) {
    Counts counts(100);
    parallel_for(100, Counts::body, &counts);
    park_threads();
    EXPECT_TRUE(counts.all(1));
  }
}

TEST(ThreadPool, RefusesSillyThreadCounts) {
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(-3), Error);
  EXPECT_THROW(set_num_threads(1 << 20), Error);
}

// Two iterations that wait for each other, so that each runs on a thread of its own; the worker notes where it may run.
struct Meeting {
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  std::atomic<int> worker_cores{0};
  static int32_t body(int64_t, int64_t, void* self) {
    auto& meeting = *static_cast<Meeting*>(self);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    meeting.arrived++;
    while (meeting.arrived < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    if (std::this_thread::get_id() != meeting.caller) meeting.worker_cores = static_cast<int>(allowed_cores().size());
    return 0;
  }
};

TEST(ThreadPool, WorkersKeepOffTheCallersCore) {
  const int cores = static_cast<int>(allowed_cores().size());
  if (cores < 2) GTEST_SKIP() << "needs a machine of two cores";
  if (cores > 2) GTEST_SKIP() << "two threads on more than two cores are left to the scheduler";
  const Threads use(2);
  Meeting meeting;
  parallel_for(2, Meeting::body, &meeting);
  EXPECT_EQ(meeting.worker_cores, cores - 1);
}

TEST(Scratch, IsAlignedAndKept) {
  const tw_context* context = host_context();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{5} << 20}) {
    void* first = context->alloc(context, bytes);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    context->release(context, first);
    void* second = context->alloc(context, bytes);
    EXPECT_EQ(first, second);
    context->release(context, second);
  }
  EXPECT_EQ(context->alloc(context, size_t{1} << 60), nullptr);
  EXPECT_EQ(context->alloc(context, ~size_t{0}), nullptr);
}

}  // namespace
}  // namespace tw::runtime
