// A board over loopback with workers that are real, and confined: candidates that crash and hang, and workers that are
// killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "rpc/check/checks_text.h"
#include "rpc/check/outputs.h"
#include "src/runtime/arguments.h"
#include "src/runtime/host_device.h"
#include "src/runtime/inputs.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/run_worker.h"
#include "src/support/json_text.h"
#include "src/support/subprocess.h"
#include "tests/faults/processes.h"
#include "tests/unit/compile_c.h"
#include "tests/unit/rpc_board_client.h"
#include "tests/unit/rpc_loopback_board.h"
#include "tests/unit/signals.h"

namespace tw::rpc {
namespace {

constexpr int kElements = 1000;
const std::string kRight = "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];";
const std::string kSlow = "for (volatile long i = 0; i < 300000000; ++i) {}";

Checks twice() {
  const auto arg = [](const char* name, bool written) {
    return runtime::ArgSpec{name, ir::Type::f(32), {kElements}, {}, written};
  };
  Checks checks;
  checks.target = "llvm";
  checks.kernel = "k";
  checks.args = {arg("x", false), arg("y", true)};
  checks.rtol = {1e-5, 1e-5};
  checks.timeout_s = 2;
  std::string bytes(runtime::random_inputs(checks.args).bytes());
  const size_t y = runtime::argument_offsets(checks.args)[1];
  for (size_t at = 0; at < kElements * sizeof(float); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(float));
    value *= 2;
    std::memcpy(bytes.data() + y + at, &value, sizeof(float));
  }
  checks.reference = Blob(bytes);
  return checks;
}

// This program.
const runtime::WorkerCommand kWorker{"/proc/self/exe", {"--serve"}, true};
std::vector<pid_t> workers() { return tw::test::workers_of(getpid(), "exe"); }

class BoardFaults : public testing::Test {
 protected:
  BoardFaults() {
    tw::test::leave_signals_alone();
    const Checks checks = twice();
    const TaskSpec spec{.checks = support::to_text(to_json(checks)),
                        .inputs_version = runtime::kInputsVersion,
                        .reference = client_.store(std::string(outputs_of(checks.args, *checks.reference).bytes()))};
    client_.say(spec);
    task_ = client_.hear<TaskReady>().task;
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
  }
  ~BoardFaults() override { EXPECT_LE(workers().size(), 1u) << "a worker was left behind, besides the next one"; }

  Digest begin(const std::string& body) {
    const std::string source = tw::test::vector_kernel("k", kElements, body);
    Job job{.name = {}, .task = task_, .object = client_.store(std::string(object_of(source).bytes()))};
    job.attempt = attempts_++;
    job.name = name_of(job);
    client_.say(job);
    return job.name;
  }
  JobResult run(const std::string& body) {
    begin(body);
    return client_.hear<JobResult>();
  }
  Blob object_of(const std::string& source) {
    return Blob::read(tw::test::compile_c(folder_, source, "kernel", "-nostdlib"));
  }
  void expect_usable() { EXPECT_EQ(run(kRight).status, "ok"); }
  JobQueue::Lost lost() {
    return board_.ask([](const Board& board) { return board.lost_workers(); });
  }

  tw::test::Folder folder_;
  test::LoopbackBoard board_{{.description = "{}",
                              .make_runner = [] { return std::make_unique<runtime::LocalRunner>(kWorker); },
                              .make_heat = [](const auto& sleep) { return Heat({[](int) { return 2e9; }, sleep}); }}};
  test::Client client_{board_.port()};
  Digest task_;
  uint32_t attempts_ = 0;
};

// Kills each worker as it comes, up to so many.
class Killer {
 public:
  explicit Killer(int most) : thread_([this, most] { kill_them(most); }) {}
  int killed() const { return killed_; }

 private:
  void kill_them(int most) {
    while (!ending_ && killed_ < most) {
      for (const pid_t worker : workers()) {
        if (killed_ < most && kill(worker, SIGKILL) == 0) ++killed_;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  struct End {
    std::atomic<bool>& ending;
    ~End() { ending = true; }
  };
  std::atomic<int> killed_ = 0;
  std::atomic<bool> ending_ = false;
  std::jthread thread_;
  End end_{ending_};
};

TEST_F(BoardFaults, ARightCandidateIsTimed) {
  const JobResult result = run(kRight);
  EXPECT_EQ(result.status, "ok") << result.detail;
  EXPECT_GT(result.seconds, 0);
  EXPECT_LT(result.seconds, 1e-3);
}

TEST_F(BoardFaults, CandidatesThatFailDoSoAlone) {
  EXPECT_EQ(run("*(volatile int*)8 = 1;").status, "crashed");
  EXPECT_EQ(run("for (int i = 0; i < n; ++i) y[i] = x[i];").status, "wrong_answer");
  EXPECT_EQ(run("for (;;);").status, "timeout");
  expect_usable();
}

TEST_F(BoardFaults, AnObjectThatIsNoneIsRefused) {
  Job job{.name = {}, .task = task_, .object = client_.store("no object")};
  job.name = name_of(job);
  client_.say(job);
  EXPECT_EQ(client_.hear<JobResult>().status, "load_failed");
  expect_usable();
}

TEST_F(BoardFaults, AWorkerThatIsKilledOnceIsReplaced) {
  begin(kSlow + kRight);
  Killer killer(1);
  EXPECT_EQ(client_.hear<JobResult>().status, "ok");
  EXPECT_EQ(killer.killed(), 1);
  EXPECT_EQ(lost().in_a_row, 0u);
}

TEST_F(BoardFaults, WorkersThatAreKilledAgainAndAgainAreNotTheCandidatesFault) {
  begin(kSlow + kRight);
  {
    Killer killer(3);
    EXPECT_EQ(client_.hear<JobResult>().status, "device_lost");
    EXPECT_EQ(killer.killed(), 3);
  }
  EXPECT_EQ(lost().in_a_row, 1u);
  expect_usable();
  EXPECT_EQ(lost().in_a_row, 0u);
}

TEST_F(BoardFaults, ARunThatIsCancelledEnds) {
  const Digest hangs = begin("for (;;);");
  EXPECT_EQ(client_.hear<Busy>().name, hangs);
  client_.say(Cancel{hangs});
  expect_usable();
}

int serve_run() {
  const auto this_cpu = [](const runtime::RunRequest& request) {
    return std::make_unique<runtime::HostDevice>(request.threads, runtime::without_dynamic_linker());
  };
  return runtime::run_worker(support::kChannel, this_cpu, {.confined = true});
}

}  // namespace
}  // namespace tw::rpc

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--serve") == 0) return tw::rpc::serve_run();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
