// LocalBuilder with a stand-in for the compiler: this program itself, started with --serve, does what the "IR" says.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "src/runtime/builder.h"
#include "src/runtime/timing.h"

namespace tw::runtime {
namespace {

BuildReply obey(const BuildRequest& request) {
  const std::string& order = request.ir_text;
  if (order == "abort") {
    std::fprintf(stderr, "LLVM ERROR: cannot select\n");
    std::abort();
  }
  if (order == "hang")
    for (;;) pause();
  if (order == "exit") _exit(0);
  if (order == "die") raise(SIGKILL);
  if (order == "throw") throw std::runtime_error("no such target");
  while (order == "allocate")
    if (!std::malloc(size_t{1} << 30)) std::abort();
  return {order != "refuse", order == "refuse" ? "vectors of 3 lanes" : std::to_string(getpid()), 0.5, 0.25};
}

class Building : public testing::Test {
 protected:
  Building() {
    setenv("TW_WORKER_BUILD", "/proc/self/exe", 1);
    builder_ = std::make_unique<LocalBuilder>();
  }
  ~Building() override { unsetenv("TW_WORKER_BUILD"); }
  BuildResult build(const std::string& order, double timeout_s = 30) {
    return builder_->build({order, "llvm", "/dev/null", 3}, timeout_s);
  }
  void expect(const BuildResult& result, BuildStatus status, const std::string& message) {
    EXPECT_EQ(to_string(result.status), to_string(status)) << result.message;
    EXPECT_NE(result.message.find(message), std::string::npos) << result.message;
  }
  std::unique_ptr<LocalBuilder> builder_;
};

TEST_F(Building, AWorkerIsUsedAgain) {
  const BuildResult first = build("ok"), second = build("ok");
  expect(first, BuildStatus::kOk, "");
  EXPECT_EQ(first.message, second.message);
  EXPECT_EQ(first.llvm_s, 0.5);
  EXPECT_GT(first.seconds, 0);
}

TEST_F(Building, ARefusalIsNoCrash) {
  expect(build("refuse"), BuildStatus::kFailed, "vectors of 3 lanes");
  expect(build("throw"), BuildStatus::kFailed, "no such target");
  expect(build("ok"), BuildStatus::kOk, "");
}

TEST_F(Building, AnAbortOfTheCompilerSaysWhatItPrinted) {
  expect(build("abort"), BuildStatus::kCrashed, "SIGABRT (Aborted): LLVM ERROR: cannot select");
  expect(build("exit"), BuildStatus::kCrashed, "exit code 0");
  expect(build("ok"), BuildStatus::kOk, "");
}

TEST_F(Building, AHangEndsAtItsDeadline) {
  const double start = seconds_now();
  expect(build("hang", 0.2), BuildStatus::kTimeout, "did not end within 0.2 s");
  EXPECT_LT(seconds_now() - start, 10);
  expect(build("ok"), BuildStatus::kOk, "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Building, MemoryIsBounded) { expect(build("allocate"), BuildStatus::kCrashed, "SIGABRT"); }
#endif

TEST_F(Building, ALostWorkerIsTriedThreeTimes) { expect(build("die"), BuildStatus::kLost, "SIGKILL"); }

TEST_F(Building, SeveralAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> built{0};
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) built += build("ok").ok();
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(built, 80);
}

TEST_F(Building, Cancelled) {
  std::thread user([&] {
    usleep(200000);
    builder_->cancel();
  });
  expect(build("hang"), BuildStatus::kLost, "cancelled");
  user.join();
  expect(build("ok"), BuildStatus::kLost, "cancelled");
}

TEST(BuildingWithoutAWorker, NamesTheMissingProgram) {
  setenv("TW_WORKER_BUILD", "/nowhere/tw-worker-build", 1);
  try {
    LocalBuilder();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("tw-worker-build is not at /nowhere/tw-worker-build"), std::string::npos)
        << e.what();
  }
  unsetenv("TW_WORKER_BUILD");
}

}  // namespace
}  // namespace tw::runtime

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--serve") return tw::runtime::serve_builds(argc, argv, tw::runtime::obey);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
