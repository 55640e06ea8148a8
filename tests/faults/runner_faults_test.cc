// Candidates that crash, hang, cheat or write where they should not, each for real in a worker process.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "src/runtime/arguments.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/timing.h"
#include "tests/faults/processes.h"
#include "tests/unit/compile_c.h"
#include "tests/unit/signals.h"

namespace tw::runtime {
namespace {

constexpr int kElements = 1000;

using test::workers_of;

class RunnerFaults : public testing::Test {
 protected:
  RunnerFaults() {
    test::leave_signals_alone();
    request_.kernel = "k";
    request_.args = {{"x", ir::Type::f(32), {kElements}, {}, false}, {"y", ir::Type::f(32), {kElements}, {}, true}};
    std::vector<float> x(kElements), y(kElements);
    for (int i = 0; i < kElements; ++i) y[i] = 2 * (x[i] = static_cast<float>(i) + 0.5f);
    request_.inputs = arguments_blob(request_.args, {x.data(), y.data()});
    request_.reference = request_.inputs;
    request_.rtol = request_.atol = {1e-5, 1e-5};
    request_.threads = 2;
    request_.timeout_s = 20;
  }

  RunResult run(const std::string& body, const std::string& before = "") {
    request_.object = Blob::read(test::compile_c(folder_, test::vector_kernel("k", kElements, body, before)));
    return runner_.run(request_);
  }
  void expect(const RunResult& result, RunStatus status, const std::string& detail) {
    EXPECT_EQ(to_string(result.status), to_string(status)) << result.detail;
    EXPECT_NE(result.detail.find(detail), std::string::npos) << result.detail;
  }

  struct NoneIsLeft {
    ~NoneIsLeft() { EXPECT_TRUE(workers_of(getpid()).empty()) << "a worker was left behind"; }
  };

  test::Folder folder_;
  RunRequest request_;
  NoneIsLeft none_is_left_;  // once the runner is gone
  LocalRunner runner_;
};

const std::string kRight = "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];";

TEST_F(RunnerFaults, ARightCandidateIsTimed) {
  const double start = seconds_now();
  const RunResult result = run(kRight);
  expect(result, RunStatus::kOk, "");
  EXPECT_GT(result.seconds, 0);
  EXPECT_LT(result.seconds, 1e-3);
  EXPECT_GE(result.runs, TimingPolicy().fewest_repeats);  // more only where the machine is quick enough
  std::printf("a right candidate: %.3g s a run, %d runs, compiled, checked and timed in %.0f ms\n", result.seconds,
              result.runs, 1e3 * (seconds_now() - start));
}

TEST_F(RunnerFaults, NumberAndRepeatAsAsked) {
  request_.number = 3;
  request_.repeat = 4;
  EXPECT_EQ(run(kRight).runs, 4);
}

TEST_F(RunnerFaults, Segfault) { expect(run("*(volatile int*)8 = 1;"), RunStatus::kCrashed, "SIGSEGV"); }
TEST_F(RunnerFaults, SegfaultsAHundredTimes) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  expect(run("*(volatile int*)8 = 1;"), RunStatus::kCrashed, "SIGSEGV");
  const auto before = descriptors();
  for (int i = 0; i < 99; ++i) expect(runner_.run(request_), RunStatus::kCrashed, "SIGSEGV");
  EXPECT_EQ(descriptors(), before);
  expect(run(kRight), RunStatus::kOk, "");
}
TEST_F(RunnerFaults, IllegalInstruction) {
#if defined(__aarch64__)
  const char* illegal = "__asm__(\".inst 0\");";
#else
  const char* illegal = "__builtin_trap();";
#endif
  expect(run(illegal), RunStatus::kCrashed, "SIGILL");
}
TEST_F(RunnerFaults, Abort) { expect(run("abort();", "#include <stdlib.h>"), RunStatus::kCrashed, "SIGABRT"); }
TEST_F(RunnerFaults, ReturnsACode) { expect(run("return 5;"), RunStatus::kCrashed, "returned code 5"); }
TEST_F(RunnerFaults, ExitWithoutAResult) {
#ifdef __SANITIZE_ADDRESS__
  const char* const ended = "tried to start a process or a thread";  // its leak check does, at exit
#else
  const char* const ended = "ended without a result, exit code 0";
#endif
  expect(run("exit(0);", "#include <stdlib.h>"), RunStatus::kCrashed, ended);
}
TEST_F(RunnerFaults, CrashesAfterTheCheck) {
  expect(run("static int calls; if (++calls > 2) *(volatile int*)8 = 1;" + kRight), RunStatus::kCrashed, "SIGSEGV");
}

TEST_F(RunnerFaults, InfiniteLoop) {
  request_.timeout_s = 0.3;
  const double start = seconds_now();
  const std::string loop = "for (volatile int i = 0;; ++i) {}";
  expect(run(loop), RunStatus::kTimeout, "did not end within 0.3 s");
  EXPECT_LT(seconds_now() - start, 10);
}

TEST_F(RunnerFaults, SigtermIgnored) {
  request_.timeout_s = 0.3;
  expect(run("signal(SIGTERM, SIG_IGN); for (volatile int i = 0;; ++i) {}", "#include <signal.h>"), RunStatus::kTimeout,
         "");
}

TEST_F(RunnerFaults, ClosesEverythingAndHangs) {
  request_.timeout_s = 0.3;
  const RunResult result =
      run("for (int i = 0; i < 100; ++i) close(i); for (volatile int i = 0;; ++i) {}", "#include <unistd.h>");
  EXPECT_NE(result.status, RunStatus::kOk);
}

TEST_F(RunnerFaults, WritesBeforeAndPastItsOutput) {
  expect(run(kRight + "((char*)y)[-1] = 1;"), RunStatus::kWrongAnswer,
         "argument 2 (y): memory outside it was written, 1 bytes before its first");
  expect(run(kRight + "((char*)y)[4 * n] = 1;"), RunStatus::kWrongAnswer, "1 bytes after its last");
  expect(run(kRight + "((char*)x)[4 * n + 100] = 1;"), RunStatus::kWrongAnswer, "argument 1 (x)");
}

TEST_F(RunnerFaults, WritesFarOutside) { expect(run(kRight + "y[1 << 16] = 1;"), RunStatus::kCrashed, "SIGSEGV"); }

TEST_F(RunnerFaults, WritesAnInput) {
  expect(run(kRight + "((float*)x)[7] = 0;"), RunStatus::kWrongAnswer, "argument 1 (x) is an input and was written");
}

// x comes packed into rows of 8, turned round.
TEST_F(RunnerFaults, DamageOfAPackedInput) {
  const auto packed = [&](const std::string& body, const std::string& packing = "", const char* packer = "pack") {
    const std::string source = std::string("#include <tensorwright/kernel_abi.h>\n") +
                               "static const int64_t rows[] = {125, 8}, shape[] = {1000};\n"
                               "static const tw_param_descriptor params[] = {{\"x\", 3, 32, 0, 2, rows, 0},"
                               "                                             {\"y\", 3, 32, 1, 1, shape, 0}};\n"
                               "static const char* const layouts[] = {\"[i // 8, i % 8]\", 0};\n"
                               "static const char* const packers[] = {\"" +
                               packer +
                               "\", 0};\n"
                               "const tw_kernel_descriptor tw_k_descriptor = {sizeof(tw_kernel_descriptor),"
                               " TW_ABI_VERSION, \"k\", \"llvm -mcpu=x86-64\", \"\", 2, params, 0, 0, 0, 0, 0,"
                               " layouts, packers};\n"
                               "int32_t tw_pack(const tw_args* args, const tw_context* context) {\n"
                               "  const float* from = args->data[0]; float* to = args->data[1];\n"
                               "  for (int i = 0; i < 1000; ++i) to[999 - i] = from[i];\n" +
                               packing +
                               "  return 0;\n}\n"
                               "int32_t tw_k(const tw_args* args, const tw_context* context) {\n"
                               "  float* x = args->data[0]; float* y = args->data[1];\n"
                               "  for (int i = 0; i < 1000; ++i) y[i] = 2 * x[999 - i];\n" +
                               body + "  return 0;\n}\n";
    request_.object = Blob::read(test::compile_c(folder_, source));
    return runner_.run(request_);
  };
  expect(packed(""), RunStatus::kOk, "");
  expect(packed("x[7] = 0;\n"), RunStatus::kWrongAnswer, "argument 1 (x, packed) is an input and was written");
  expect(packed("static int calls; if (++calls > 1) x[7] = 0;\n"), RunStatus::kWrongAnswer, "was written");
  expect(packed("x[1000] = 0;\n"), RunStatus::kWrongAnswer, "argument 1 (x, packed): memory outside it was written");
  expect(packed("", "to[1000] = 0;\n"), RunStatus::kWrongAnswer, "argument 1 (x, packed): memory outside it");
  expect(packed("", "return 3;\n"), RunStatus::kCrashed, "pack returned code 3");
  expect(packed("", "", "none"), RunStatus::kLoadFailed, "no symbol tw_none");
}

TEST_F(RunnerFaults, FunctionsThatItCallsAreFoundInTheWorker) {
  const auto calling = [&](const std::string& function) {
    const std::string source =
        "#include <tensorwright/kernel_abi.h>\n"
        "static const int64_t shape[] = {1000};\n"
        "static const tw_param_descriptor params[] = {{\"x\", 3, 32, 0, 1, shape, 0}, {\"y\", 3, 32, 1, 1, shape, "
        "0}};\n"
        "static const char* const externs[] = {\"" +
        function +
        "\"};\n"
        "const tw_kernel_descriptor tw_k_descriptor = {sizeof(tw_kernel_descriptor), TW_ABI_VERSION, \"k\","
        " \"llvm -mcpu=x86-64\", \"\", 2, params, 0, 0, 0, 1, externs};\n"
        "int32_t tw_k(const tw_args* args, const tw_context* context) {\n"
        "  const float* x = args->data[0]; float* y = args->data[1];\n"
        "  for (int i = 0; i < 1000; ++i) y[i] = 2 * ((float (*)(float))context->externs[0])(x[i]);\n"
        "  return 0;\n}\n";
    request_.object = Blob::read(test::compile_c(folder_, source));
    return runner_.run(request_);
  };
  expect(calling("fabsf"), RunStatus::kOk, "");
  expect(calling("no_such_function"), RunStatus::kLoadFailed, "calls no_such_function, which is not known");
}

TEST_F(RunnerFaults, OutputUntouched) { expect(run(""), RunStatus::kWrongAnswer, "argument 2 (y) was not written"); }
TEST_F(RunnerFaults, OutputPartlyWritten) {
  expect(run("for (int i = 0; i < n - 1; ++i) y[i] = 2 * x[i];"), RunStatus::kWrongAnswer, "element [999] is ");
}
TEST_F(RunnerFaults, WrongAnswer) {
  expect(run(kRight + "y[5] += 1;"), RunStatus::kWrongAnswer,
         "argument 2 (y): element [5] is 12, expected 11; 1 of 1000 differ");
}
TEST_F(RunnerFaults, RightThenWrong) {
  expect(run("static int calls; if (++calls > 2) return 0;" + kRight), RunStatus::kWrongAnswer,
         "was not written (after the timed runs)");
  expect(run("static int calls; ++calls;" + kRight + "if (calls > 2) y[0] = 9;"), RunStatus::kWrongAnswer,
         "after the timed runs");
  expect(run("static int calls; if (++calls > 1) return 0;" + kRight), RunStatus::kWrongAnswer,
         "was not written (after the timed runs)");
}

TEST_F(RunnerFaults, ANaNIsEqualToANaNOnlyWhenItWasWritten) {
  std::vector<float> x(kElements, 0.5f), y(kElements, NAN);
  request_.reference = arguments_blob(request_.args, {x.data(), y.data()});
  expect(run("for (int i = 0; i < n; ++i) y[i] = __builtin_nanf(\"\");"), RunStatus::kOk, "");
  expect(run(""), RunStatus::kWrongAnswer, "was not written (after the timed runs)");
}

TEST_F(RunnerFaults, ForkBomb) {
  expect(run("for (;;) fork();", "#include <unistd.h>"), RunStatus::kCrashed, "tried to start a process or a thread");
  expect(run("system(\"true\");", "#include <stdlib.h>"), RunStatus::kCrashed, "tried to start a process or a thread");
}

#if defined(__x86_64__)
TEST_F(RunnerFaults, ForksByTheNumbersOfX32) {
  expect(run("syscall(0x40000000 | SYS_fork);", "#include <sys/syscall.h>\n#include <unistd.h>"), RunStatus::kCrashed,
         "tried to start a process or a thread");
}
#endif

TEST_F(RunnerFaults, EightGigabytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own memory leaves no room for a limit";
#endif
  expect(run("volatile char* p = malloc(8ull << 30); for (long i = 0; i < 8l << 30; i += 4096) p[i] = 1;",
             "#include <stdlib.h>"),
         RunStatus::kCrashed, "SIGSEGV");
  expect(run("if (!context->alloc(context, 8ull << 30)) return TW_ERROR_OUT_OF_MEMORY;"), RunStatus::kCrashed,
         "no memory for its scratch");
}

TEST_F(RunnerFaults, WritesAHugeFile) {
  expect(run("FILE* f = fopen(\"/dev/shm/tw_fault\", \"w\"); remove(\"/dev/shm/tw_fault\");"
             "for (int i = 0; i < 1 << 20; ++i) fwrite(x, 4, n, f);",
             "#include <stdio.h>"),
         RunStatus::kCrashed, "SIGXFSZ");
}

TEST_F(RunnerFaults, NoSuchSymbolAndNoObject) {
  request_.kernel = "other";
  expect(run(kRight), RunStatus::kLoadFailed, "no symbol tw_other");
  request_.object = Blob("not a shared object");
  expect(runner_.run(request_), RunStatus::kLoadFailed, "file too short");
  request_.object = Blob();
  expect(runner_.run(request_), RunStatus::kLoadFailed, "");
}

// A request without a reference: the outputs come back, nothing is timed.
TEST_F(RunnerFaults, WithoutAReferenceTheOutputsAreGiven) {
  const Blob expected = *request_.reference;
  request_.reference.reset();
  const RunResult result = run(kRight);
  expect(result, RunStatus::kOk, "");
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(result.runs, 0);
  ASSERT_TRUE(result.outputs);
  EXPECT_TRUE(result.outputs->bytes() == expected.bytes());
  expect(run(kRight + "((float*)x)[7] = 0;"), RunStatus::kWrongAnswer, "argument 1 (x) is an input and was written");
  expect(run(kRight + "y[-1] = 0;"), RunStatus::kWrongAnswer, "argument 2 (y): memory outside it was written");
  const RunResult crashed = run("*(volatile int*)8 = 1;");
  expect(crashed, RunStatus::kCrashed, "SIGSEGV");
  EXPECT_FALSE(crashed.outputs);
}

TEST_F(RunnerFaults, TheBytesOfARequestAreNobodysToWrite) {
  expect(run(kRight + "for (int f = 4; f < 64; ++f) { lseek(f, 0, 0); if (write(f, y, 4) == 4) y[0] = 1e9f; }",
             "#include <unistd.h>"),
         RunStatus::kOk, "");
}

TEST_F(RunnerFaults, ConstructorsRunInTheWorkerToo) {
  expect(run(kRight, "__attribute__((constructor)) void f(void) { *(volatile int*)8 = 1; }"), RunStatus::kCrashed,
         "SIGSEGV");
}

TEST_F(RunnerFaults, ClearlyBeaten) {
  request_.give_up_above_s = 1e-9;
  const RunResult result = run(kRight);
  expect(result, RunStatus::kBeaten, "");
  EXPECT_GT(result.seconds, 1e-9);
}

TEST_F(RunnerFaults, AFirstRunThatIsFarTooSlowIsCutShort) {
  request_.give_up_above_s = 1e-3;
  const double start = seconds_now();
  const RunResult result = run("sleep(15);" + kRight, "#include <unistd.h>");
  expect(result, RunStatus::kBeaten, "cut short");
  EXPECT_EQ(result.seconds, 1e-3);
  EXPECT_EQ(result.runs, 0);
  EXPECT_LT(seconds_now() - start, 10);
}

TEST_F(RunnerFaults, ALongRunThatIsSlowerThanTheBestIsNotRepeated) {
  const std::string once =
      "static int calls; usleep(200000); for (int i = 0; i < n; ++i) y[i] = calls ? 0 : 2 * x[i];"
      "++calls;";
  request_.give_up_above_s = 0.3;
  const RunResult slow = run(once, "#include <unistd.h>");
  expect(slow, RunStatus::kOk, "");
  EXPECT_EQ(slow.runs, 1);
  EXPECT_GE(slow.seconds, 0.2);
  request_.give_up_above_s = 10;
  expect(run(once, "#include <unistd.h>"), RunStatus::kWrongAnswer, "after the timed runs");
}

TEST_F(RunnerFaults, TooFast) {
  request_.lower_bound_s = 10;
  expect(run(kRight), RunStatus::kTooFast, "faster than the work allows");
}

TEST_F(RunnerFaults, AFakedClockChangesNothing) {
  // The worker takes the time itself, from a clock that the candidate's own symbols do not reach.
  const RunResult result =
      run("usleep(2000);" + kRight,
          "#include <time.h>\n#include <unistd.h>\n"
          "int clock_gettime(clockid_t c, struct timespec* t) { t->tv_sec = 0; t->tv_nsec = 0; return 0; }");
  expect(result, RunStatus::kOk, "");
  EXPECT_GT(result.seconds, 1e-3);
}

TEST_F(RunnerFaults, WritingToTheChannelIsNoResult) {
  const RunResult result = run("char junk[64]; memset(junk, 255, 64); write(3, junk, 64);" + kRight,
                               "#include <string.h>\n#include <unistd.h>");
  expect(result, RunStatus::kCrashed, "corrupted the process that ran it");
}

TEST_F(RunnerFaults, AWorkerKilledFromOutsideIsLostNotTheCandidates) {
  std::atomic<bool> done{false};
  std::atomic<int> kills{0};
  std::thread killer([&] {
    while (!done) {
      for (const pid_t pid : workers_of(getpid())) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (kill(pid, SIGKILL) == 0) ++kills;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const RunResult result = run("for (volatile int i = 0;; ++i) {}");
  done = true;
  killer.join();
  expect(result, RunStatus::kDeviceLost, "SIGKILL");
  EXPECT_GE(kills, 3);
}

TEST_F(RunnerFaults, AWorkerKilledOnceIsReplaced) {
  std::thread killer([&] {
    std::vector<pid_t> found;
    while ((found = workers_of(getpid())).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(found[0], SIGKILL);
  });
  const RunResult result = run("usleep(20000);" + kRight, "#include <unistd.h>");
  killer.join();
  expect(result, RunStatus::kOk, "");
}

TEST_F(RunnerFaults, Cancelled) {
  std::thread user([&] {
    while (workers_of(getpid()).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    runner_.cancel();
  });
  expect(run("for (volatile int i = 0;; ++i) {}"), RunStatus::kDeviceLost, "cancelled");
  user.join();
  expect(runner_.run(request_), RunStatus::kDeviceLost, "cancelled");
}

TEST_F(RunnerFaults, InputsOfAnotherSizeAreAnErrorOfOurs) {
  request_.inputs = Blob(request_.inputs.bytes().substr(64));
  try {
    run(kRight);
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("malformed request"), std::string::npos) << e.what();
  }
}

TEST_F(RunnerFaults, MeasuringCanBeForbidden) {
  setenv("TW_MEASURE", "forbid", 1);
  EXPECT_THROW(LocalRunner(), Error);
  EXPECT_THROW(runner_.run(request_), Error);
  unsetenv("TW_MEASURE");
}

// The tuner dies of SIGKILL while its worker is stuck: the worker must go too.
TEST_F(RunnerFaults, NoWorkerOutlivesItsParent) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no threads after fork";
#endif
  request_.object =
      Blob::read(test::compile_c(folder_, test::vector_kernel("k", kElements, "for (volatile int i = 0;; ++i) {}")));
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans come to us, so that we see them
  const pid_t tuner = fork();
  if (tuner == 0) {
    LocalRunner().run(request_);
    _exit(0);
  }
  std::vector<pid_t> workers;
  const auto is_stuck = [&] {  // before its candidate is there it ends by itself
    workers = workers_of(tuner);
    return !workers.empty() && !workers_of(workers[0]).empty();
  };
  for (int i = 0; i < 1000 && !is_stuck(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(is_stuck());
  kill(tuner, SIGKILL);
  waitpid(tuner, nullptr, 0);
  int status = 0;
  EXPECT_EQ(waitpid(workers[0], &status, 0), workers[0]);
  EXPECT_TRUE(WIFSIGNALED(status));
  while (waitpid(-1, &status, 0) > 0) EXPECT_TRUE(WIFSIGNALED(status));  // the candidate, a child of the worker
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace tw::runtime
