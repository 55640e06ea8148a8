// Candidates and compilers that fail in every way that we could think of: tuning goes on, and blames whom it should.
//
// The builder here is this test's own binary, started again: of eight candidates it compiles one, and for each other it
// does something bad.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "src/ir/parse.h"
#include "src/runtime/builder.h"
#include "tensorwright/autotune.h"
#include "tests/unit/compile_c.h"
#include "tests/unit/signals.h"
#include "tests/unit/vector_task.h"

namespace tw::autotune {
namespace {

constexpr const char* kFolder = "TW_TEST_FAULTY_BUILDER";

// The number of this build among all that share the folder.
int claim(const std::string& folder) {
  for (int n = 0;; ++n) {
    const int fd = open((folder + "/" + std::to_string(n)).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) continue;
    close(fd);
    return n;
  }
}

const char* body_of(int fault) {
  switch (fault) {
    case 3:
      return "*(volatile int*)8 = 1;";
    case 4:
      return "for (volatile int forever = 1; forever;) {}";
    case 5:
      return "for (int i = 0; i < n + 4; ++i) y[i] = x[i % n] * 2;";
    case 6:
      return "for (int i = 0; i < n; ++i) y[i] = x[i] * 2.01f;";
    default:
      return "for (int i = 0; i < n - 1; ++i) y[i] = x[i] * 2;";
  }
}

runtime::BuildReply build_badly(const runtime::BuildRequest& request) {
  runtime::BuildReply reply;
  const int fault = claim(std::getenv(kFolder)) % 8;
  if (fault == 1) std::abort();
  if (fault == 2) sleep(600);
  if (fault == 0) {
    tw::build(*ir::parse_program(request.ir_text), *Target::parse(request.target))->save(request.out_path);
  } else {
    const test::Folder folder;
    std::filesystem::copy(test::compile_c(folder, test::vector_kernel("candidate", 1000, body_of(fault))),
                          request.out_path);
  }
  reply.ok = true;
  return reply;
}

// Runs before main: in a process that the tuner started, there is no test.
const bool kIsTest = [] {
  if (std::getenv(kFolder) == nullptr) return true;
  char name[] = "builder", serve[] = "--serve";
  char* argv[] = {name, serve, nullptr};
  _exit(runtime::serve_builds(2, argv, build_badly));
}();

// The builder of this process's tuner, while it lives.
class FaultyBuilder {
 public:
  FaultyBuilder() {
    setenv("TW_WORKER_BUILD", "/proc/self/exe", 1);
    setenv(kFolder, (counters_ / "").c_str(), 1);
  }
  ~FaultyBuilder() {
    unsetenv("TW_WORKER_BUILD");
    unsetenv(kFolder);
  }

 private:
  test::Folder counters_;
};

TEST(Faults, TuningGoesOnAndBlamesTheRightOnes) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM";
  ASSERT_TRUE(kIsTest);
  test::leave_signals_alone();
  const Task task = vector_task();
  const FaultyBuilder builder;
  TuneOptions options{.trials = 16, .timeout_s = 2, .batch = 16, .confirm = 1};
  const TuneResult result = tune(task, options);

  std::map<std::string, int> statuses;
  for (const Trial& t : result.trials) ++statuses[t.status];
  EXPECT_EQ(result.trials.size(), 16u);
  EXPECT_EQ(statuses["build_failed"], 4);  // aborted, hung
  EXPECT_EQ(statuses["crashed"], 2);
  // Once a time is known, a loop without end is cut short like what is merely slow.
  EXPECT_EQ(statuses["timeout"] + statuses["ok"] + statuses["beaten"], 4);
  EXPECT_GE(statuses["ok"], 1);
  EXPECT_EQ(statuses["wrong_answer"], 6);  // outside its output, other values, an element left out
  ASSERT_TRUE(result.best.has_value());
  EXPECT_TRUE(result.best->ok());
  EXPECT_EQ(result.failures.size(), 12u + static_cast<size_t>(statuses["timeout"]));
  for (const Trial& t : result.failures) EXPECT_FALSE(t.detail.empty()) << t.status;
}

}  // namespace
}  // namespace tw::autotune
