#include <gtest/gtest.h>

#include <set>

#include "tests/unit/rpc_board.h"

namespace tw::rpc {
namespace {

using runtime::RunStatus;

const Digest kTask = sha256("task");

Job job(const std::string& object, uint32_t attempt = 0) {
  Job job{.name = {}, .task = kTask, .object = sha256(object)};
  job.attempt = attempt;
  job.name = name_of(job);
  return job;
}

class Jobs : public testing::Test {
 protected:
  JobQueue::Events events() {
    const auto note = [this](const std::string& what) {
      const std::lock_guard lock(mutex);
      heard.push_back(what);
      wake.notify_all();
    };
    return {[note](const Digest&, double) { note("begins"); }, [note](const Digest&) { note("ready"); },
            [note](const JobResult& r) { note(r.status); },
            [note](const Digest&, const Error& e) { note(e.diagnostic().what); }};
  }
  // Once so many were heard, or after 10 s.
  std::vector<std::string> hear(size_t count) {
    std::unique_lock lock(mutex);
    wake.wait_for(lock, std::chrono::seconds(10), [&] { return heard.size() >= count; });
    return std::exchange(heard, {});
  }
  void run(const std::string& object, uint32_t attempt = 0) { queue.run(job(object, attempt), Blob(object)); }
  void prepare() {
    queue.prepare(kTask, test::copy_task());
    ASSERT_EQ(hear(2), (std::vector<std::string>{"begins", "ready"}));
  }

  test::Bench bench;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::string> heard;
  JobQueue queue{test::stub_runners(bench), test::cool, events()};
};

TEST_F(Jobs, RunOneAfterTheOther) {
  prepare();
  for (const char* object : {"a", "b", "c"}) run(object);
  EXPECT_EQ(hear(6), (std::vector<std::string>{"begins", "ok", "begins", "ok", "begins", "ok"}));
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Jobs, ThatWereDoneAreNotRunAgain) {
  prepare();
  run("a");
  hear(2);
  run("a");
  EXPECT_EQ(hear(1), std::vector<std::string>{"ok"});
  run("a", 1);
  EXPECT_EQ(hear(2), (std::vector<std::string>{"begins", "ok"})) << "another attempt is another job";
  EXPECT_EQ(bench.so_far().size(), 2u);
}

TEST_F(Jobs, SentTwiceAreRunOnce) {
  prepare();
  bench.hold(true);
  run("a");
  ASSERT_TRUE(bench.begun(1));
  run("a");
  run("b");
  run("b");
  bench.hold(false);
  EXPECT_EQ(hear(4), (std::vector<std::string>{"begins", "ok", "begins", "ok"}));
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(Jobs, OfAnUnknownTaskAreRefused) {
  run("a");
  EXPECT_EQ(hear(1), std::vector<std::string>{"the task of this job is not here"});
}

TEST_F(Jobs, AreTakenAsFarAsThereIsRoom) {
  prepare();
  bench.hold(true);
  run("running");
  ASSERT_TRUE(bench.begun(1));
  for (size_t i = 0; i < JobQueue::kMostWaiting; ++i) run(std::to_string(i));
  EXPECT_THROW(run("one more"), Error);
  queue.cancel_waiting();
  run("one more");
  bench.hold(false);
  hear(4);
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"running", "one more"}));
}

TEST_F(Jobs, ThatAreCancelledAreHeardOfNoMore) {
  prepare();
  bench.hold(true);
  run("a");
  run("b");
  ASSERT_TRUE(bench.begun(1));
  EXPECT_GT(queue.busy_s(), 0);
  queue.cancel(job("b").name);
  queue.cancel(job("a").name);
  run("c");
  ASSERT_TRUE(bench.begun(2)) << "the next one has a Runner of its own";
  bench.hold(false);
  EXPECT_EQ(hear(3), (std::vector<std::string>{"begins", "begins", "ok"}));
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(queue.lost_workers().in_a_row, 0u) << "who was cancelled was not lost";
  run("a");
  EXPECT_EQ(hear(2), (std::vector<std::string>{"begins", "ok"}));
}

TEST_F(Jobs, WhoseWorkersAreLostAreCounted) {
  prepare();
  bench.status = RunStatus::kDeviceLost;
  run("a");
  run("b");
  EXPECT_EQ(hear(4)[3], "device_lost");
  EXPECT_EQ(queue.lost_workers().in_a_row, 2u);
  bench.status = RunStatus::kCrashed;
  run("c");
  EXPECT_EQ(hear(2)[1], "crashed");
  EXPECT_EQ(queue.lost_workers().in_a_row, 0u);
}

TEST_F(Jobs, ResultsAreKeptForAWhile) {
  prepare();
  for (size_t i = 0; i <= JobQueue::kResultsKept; ++i) {
    run(std::to_string(i));
    ASSERT_EQ(hear(2).size(), 2u);
  }
  run("1");
  EXPECT_EQ(hear(1), std::vector<std::string>{"ok"});
  run("0");
  EXPECT_EQ(hear(2), (std::vector<std::string>{"begins", "ok"}));
}

TEST_F(Jobs, ATaskThatThisMachineCannotTakeSaysWhy) {
  Checks checks = test::copy_task();
  checks.threads = 3;
  queue.prepare(kTask, checks);
  EXPECT_EQ(hear(2)[1], "the candidates are for 3 threads, and this machine has 2 cores");
}

TEST_F(Jobs, TheEndOfTheQueueEndsWhatIsUnderWay) {
  prepare();
  bench.hold(true);
  run("a");
  ASSERT_TRUE(bench.begun(1));
}

}  // namespace
}  // namespace tw::rpc
