// The real tw-worker-build: programs that it refuses, and compilers that die while they build.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <thread>

#include "src/runtime/arguments.h"
#include "src/runtime/builder.h"
#include "src/runtime/local_runner.h"
#include "tensorwright/build.h"
#include "tensorwright/te.h"
#include "tests/faults/processes.h"
#include "tests/unit/compile_c.h"

namespace tw::runtime {
namespace {

using ir::Var;
using test::workers_of;

class BuilderFaults : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(TW_LLVM)
    GTEST_SKIP() << "built without LLVM";
#endif
    const te::Tensor x = te::placeholder({100}, "float32", "x");
    const te::Tensor y = te::compute({100}, [&](Var i) { return x(i) + x(i); }, "y");
    text_ = build(default_schedule({y}, target_), {x, y}, target_, "twice")->source("ir");
    builder_ = std::make_unique<LocalBuilder>();
  }
  BuildResult build_text(const std::string& text, double timeout_s = 60) {
    return builder_->build({text, target_.to_string(), folder_ / "twice.so", 3}, timeout_s);
  }
  // That has served once.
  pid_t idle_builder() {
    EXPECT_TRUE(build_text(text_).ok());
    const std::vector<pid_t> workers = workers_of(getpid());
    EXPECT_EQ(workers.size(), 1u);
    return workers.at(0);
  }
  // The next build meets a stopped builder, which then gets the signal. It gets it once before, too: handlers that the
  // linker left behind return from the first, because a fault of its own would come again.
  BuildResult build_while(int signal) {
    const pid_t pid = idle_builder();
    kill(pid, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(pid, SIGSTOP);
    std::thread outside([=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      kill(pid, signal);
      kill(pid, SIGCONT);
    });
    const BuildResult result = build_text(text_);
    outside.join();
    return result;
  }

  test::Folder folder_;
  Target target_ = Target::host();
  std::string text_;
  std::unique_ptr<LocalBuilder> builder_;
};

TEST_F(BuilderFaults, WhatIsBuiltRunsInAWorkerAndHere) {
  const BuildResult built = build_text(text_);
  ASSERT_TRUE(built.ok()) << built.message;
  EXPECT_GT(built.llvm_s, 0);
  const auto kernel = load(folder_ / "twice.so");
  EXPECT_EQ(kernel->name(), "twice");

  std::vector<float> x(100), y(100);
  for (int i = 0; i < 100; ++i) y[i] = 2 * (x[i] = static_cast<float>(i));
  RunRequest request;
  request.object = Blob::read(folder_ / "twice.so");
  request.kernel = "twice";
  request.args = kernel->args();
  request.inputs = arguments_blob(request.args, {x.data(), y.data()});
  request.reference = request.inputs;
  request.rtol = request.atol = {0, 0};
  const RunResult result = LocalRunner().run(request);
  EXPECT_EQ(to_string(result.status), "ok") << result.detail;
}

TEST_F(BuilderFaults, TextThatIsNoProgram) {
  for (const std::string text : {"", "hello", "kernel (", "\xFF\xFE"}) {
    const BuildResult result = build_text(text);
    EXPECT_EQ(result.status, BuildStatus::kFailed) << text;
    EXPECT_NE(result.message, "");
  }
  EXPECT_TRUE(build_text(text_).ok());
}

TEST_F(BuilderFaults, APathThatCannotBeWritten) {
  const BuildResult result = builder_->build({text_, target_.to_string(), "/nowhere/twice.so", 3}, 60);
  EXPECT_EQ(result.status, BuildStatus::kFailed);
  EXPECT_NE(result.message.find("/nowhere/twice.so"), std::string::npos) << result.message;
}

// An assertion of LLVM ends in SIGABRT.
TEST_F(BuilderFaults, AnAbortWhileBuilding) {
  const BuildResult result = build_while(SIGABRT);
  EXPECT_EQ(to_string(result.status), "build_crashed");
  EXPECT_NE(result.message.find("SIGABRT"), std::string::npos) << result.message;
  EXPECT_TRUE(build_text(text_).ok());
}

TEST_F(BuilderFaults, ABuilderKilledFromOutsideIsReplaced) {
  const BuildResult result = build_while(SIGKILL);
  EXPECT_EQ(to_string(result.status), "ok") << result.message;
}

TEST_F(BuilderFaults, AStoppedBuilderMeetsItsDeadline) {
  kill(idle_builder(), SIGSTOP);
  EXPECT_EQ(to_string(build_text(text_, 0.2).status), "build_timeout");
  EXPECT_TRUE(build_text(text_).ok());
}

}  // namespace
}  // namespace tw::runtime
