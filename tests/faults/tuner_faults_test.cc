// Tuners that are killed at any moment, that share a log, and that are told times which are none.
//
// This binary is also what they start: a builder that copies one object for all candidates, a worker that reports what
// it was told to, and the tuner itself, with a Runner whose times follow from the candidate.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "autotune/log/record.h"
#include "src/runtime/builder.h"
#include "src/runtime/host_device.h"
#include "src/runtime/messages.h"
#include "src/runtime/run_worker.h"
#include "src/support/fnv.h"
#include "src/support/subprocess.h"
#include "tensorwright/build.h"
#include "tests/faults/processes.h"
#include "tests/unit/compile_c.h"
#include "tests/unit/folder.h"
#include "tests/unit/vector_task.h"

namespace tw::autotune {
namespace {

constexpr int kTrials = 24;
constexpr const char *kRole = "TW_TEST_ROLE", *kObject = "TW_TEST_OBJECT", *kLog = "TW_TEST_LOG",
                     *kMeasured = "TW_TEST_MEASURED", *kSeed = "TW_TEST_SEED", *kSeconds = "TW_TEST_SECONDS";

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What candidates are told apart by: the end of their object.
constexpr size_t kMarkBytes = 8;

runtime::BuildReply copy_object(const runtime::BuildRequest& request) {
  const uint64_t mark = support::fnv1a(request.ir_text);
  std::filesystem::copy(setting(kObject), request.out_path);
  std::ofstream(request.out_path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(&mark), kMarkBytes);
  runtime::BuildReply reply;
  reply.ok = true;
  return reply;
}

// Also notes that it measured, where somebody counts.
class FixedTimes final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    uint64_t mark = 0;
    std::memcpy(&mark, request.object.bytes().data() + request.object.size() - kMarkBytes, kMarkBytes);
    if (const std::string path = setting(kMeasured); !path.empty()) {
      const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
      if (write(fd, "x", 1) != 1) std::abort();
      close(fd);
    }
    return {runtime::RunStatus::kOk, 1e-3 * (1 + static_cast<double>(mark % 1000)), 0.01, 5, ""};
  }
  MachineDescription machine() const override {
    return {.hardware = host_hardware(), .threads = 2, .name = "fixed times"};
  }
};

TuneResult tune_here(const std::string& log, uint64_t seed) {
  TuneOptions options{.trials = kTrials, .log = log, .seed = seed, .model = "none", .batch = 8, .confirm = 3};
  FixedTimes runner;
  return tune(vector_task(), options, runner);
}

// Of candidates; the reference is computed.
int report_nonsense() {
  runtime::ReceivedMessage message;
  const double forever = std::numeric_limits<double>::infinity();
  if (runtime::receive_message(support::kChannel, forever, message) != runtime::Received::kFrame) return 0;
  const auto request = runtime::decode_run_request(std::move(message));
  if (!request) return 1;
  if (!request->reference) {
    runtime::HostDevice device(request->threads, runtime::by_dynamic_linker());
    runtime::serve_run(support::kChannel, *request, device);
  }
  const double seconds = std::strtod(setting(kSeconds).c_str(), nullptr);
  runtime::send_message(support::kChannel, encode(runtime::Answer::kStarted, {}));
  runtime::send_message(support::kChannel,
                        encode(runtime::Answer::kResult, {runtime::RunStatus::kOk, seconds, 0, 5, ""}));
  return 0;
}

// Runs before main: in a process that a test started, there is no test.
const bool kIsTest = [] {
  const std::string role = setting(kRole);
  if (role.empty()) return true;
  char name[] = "builder", serve[] = "--serve";
  char* argv[] = {name, serve, nullptr};
  if (role == "tuner") {
    setenv(kRole, "builder", 1);                                                      // of what it starts
    setenv("TMPDIR", std::filesystem::path(setting(kLog)).parent_path().c_str(), 1);  // outlives one that is killed
    tune_here(setting(kLog), std::strtoull(setting(kSeed).c_str(), nullptr, 10));
    _exit(0);
  }
  _exit(role == "worker" ? report_nonsense() : runtime::serve_builds(2, argv, copy_object));
}();

class TunerFaults : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kIsTest);
    if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
    const Task task = vector_task();
    const std::string object = folder_ / "object.so";
    tw::build(default_schedule(task.outputs(), task.target()), task.arguments(), task.target(), "candidate")
        ->save(object);
    setenv(kObject, object.c_str(), 1);
    setenv(kLog, log_.c_str(), 1);
    setenv(kMeasured, measured_.c_str(), 1);
    setenv(kSeed, "0", 1);
    setenv("TW_WORKER_BUILD", "/proc/self/exe", 1);
  }
  void TearDown() override {
    for (const char* name : {kRole, kObject, kLog, kMeasured, kSeed, kSeconds, "TW_WORKER_BUILD", "TW_WORKER"})
      unsetenv(name);
  }
  static std::unique_ptr<support::Subprocess> start_tuner() {
    setenv(kRole, "tuner", 1);
    return std::make_unique<support::Subprocess>(support::Command{"/proc/self/exe", {}, 0, 0});
  }
  size_t measured() const { return std::filesystem::exists(measured_) ? std::filesystem::file_size(measured_) : 0; }
  // What a log says, without when it was said.
  static std::vector<std::string> contents(const std::string& log) {
    std::vector<std::string> out;
    for (const Record& r : load_log(log).records)
      out.push_back(r.kind + " " + r.trial.knobs + " " + r.trial.status + " " + std::to_string(r.trial.seconds) + " " +
                    std::to_string(r.number));
    return out;
  }

  test::Folder folder_;
  const std::string log_ = folder_ / "log.jsonl", measured_ = folder_ / "measured";
};

TEST_F(TunerFaults, KilledAtAHundredMomentsItEndsAsIfItHadNotBeen) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ASSERT_EQ(start_tuner()->wait(60).code, 0);
  const double whole = std::min(0.3, std::chrono::duration<double>(Clock::now() - begin).count());
  const std::vector<std::string> expected = contents(log_);
  ASSERT_GE(expected.size(), static_cast<size_t>(kTrials));
  EXPECT_EQ(measured(), expected.size());
  std::mt19937 random(5);
  std::uniform_real_distribution<double> moment(0, whole);
  size_t kills = 0, ended = 0, lost = 0;
  const auto restart = [&] {
    std::filesystem::remove(log_);
    std::filesystem::remove(measured_);
  };
  restart();
  for (size_t in_this_log = 0; kills < 100;) {
    const auto tuner = start_tuner();
    std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
    tuner->kill();
    const support::ExitStatus status = tuner->wait(60);
    kills += status.signal == SIGKILL;
    in_this_log += status.signal == SIGKILL;
    if (!std::filesystem::exists(log_)) continue;
    const std::vector<std::string> sofar = contents(log_);
    ASSERT_LE(sofar.size(), expected.size());
    for (size_t i = 0; i < sofar.size(); ++i) ASSERT_EQ(sofar[i], expected[i]) << "after " << kills << " kills";
    ASSERT_LE(measured() - sofar.size(), in_this_log) << "more than the measurement in flight was lost";
    if (status.signal != 0) continue;
    EXPECT_EQ(status.code, 0) << tuner->error_text();
    EXPECT_EQ(sofar.size(), expected.size());
    lost += measured() - sofar.size();
    ++ended;
    in_this_log = 0;
    restart();
  }
  ASSERT_EQ(start_tuner()->wait(60).code, 0);
  EXPECT_EQ(contents(log_), expected);
  std::printf("%zu kills, %zu logs finished meanwhile, %zu measurements lost in them\n", kills, ended, lost);
}

TEST_F(TunerFaults, TwoOnOneLog) {
  const auto first = start_tuner();
  setenv(kSeed, "1", 1);
  const auto second = start_tuner();
  EXPECT_EQ(first->wait(60).code, 0) << first->error_text();
  EXPECT_EQ(second->wait(60).code, 0) << second->error_text();
  const Log log = load_log(log_);
  EXPECT_EQ(log.damaged, 0);
  EXPECT_EQ(log.records.size(), measured());
  std::set<std::string> configurations;
  for (const Record& r : log.records) configurations.insert(r.trial.knobs);
  EXPECT_GE(configurations.size(), static_cast<size_t>(kTrials));
  // Whoever goes on has what both measured, and measures none of it again.
  setenv(kRole, "builder", 1);
  const TuneResult result = tune_here(log_, 0);
  EXPECT_EQ(result.trials.size(), configurations.size());
  EXPECT_EQ(result.measured, 0);
}

TEST_F(TunerFaults, ReorderedAndRepeatedLinesLeadToTheSameDecisions) {
  setenv(kRole, "builder", 1);
  const TuneResult whole = tune_here(log_, 0);
  std::vector<std::string> lines;
  {
    std::ifstream in(log_);
    for (std::string line; lines.size() < 13 && std::getline(in, line);) lines.push_back(line);
  }
  lines.push_back(lines[3]);
  std::shuffle(lines.begin(), lines.end(), std::mt19937(2));
  {
    std::ofstream out(log_, std::ios::trunc);
    for (const std::string& line : lines) out << line << "\n";
  }
  const TuneResult resumed = tune_here(log_, 0);
  ASSERT_EQ(resumed.trials.size(), whole.trials.size());
  for (size_t i = 0; i < whole.trials.size(); ++i) EXPECT_EQ(resumed.trials[i].index, whole.trials[i].index) << i;
  EXPECT_EQ(resumed.best->knobs, whole.best->knobs);
}

TEST_F(TunerFaults, TimesThatAreNone) {
  setenv(kRole, "worker", 1);
  setenv("TW_WORKER", "/proc/self/exe", 1);
  unsetenv("TW_WORKER_BUILD");
  for (const std::string seconds : {"0", "nan", "-1", "inf"}) {
    std::filesystem::remove(log_);
    setenv(kSeconds, seconds.c_str(), 1);
    try {
      tune(vector_task(), {.trials = 3, .log = log_, .model = "none"});
      ADD_FAILURE() << seconds << " seconds were believed";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kTune);
      EXPECT_NE(std::string(e.what()).find("reported a time of"), std::string::npos) << e.what();
    }
    const Log log = load_log(log_);
    EXPECT_EQ(log.records.size(), 3u) << seconds;
    EXPECT_EQ(log.damaged, 0);
    for (const Record& r : log.records) EXPECT_FALSE(r.trial.ok()) << seconds;
  }
}

// The reference is the first to be built and run: what goes wrong there takes no tuner with it.
TEST_F(TunerFaults, AReferenceThatCrashesHangsOrWritesOutside) {
  setenv(kRole, "builder", 1);
  const auto expect = [&](const std::string& body, const std::string& why) {
    setenv(kObject, test::compile_c(folder_, test::vector_kernel("candidate", 1000, body)).c_str(), 1);
    try {
      FixedTimes runner;
      tune(vector_task(), {.trials = 3, .model = "none", .timeout_s = 0.2}, runner);
      ADD_FAILURE() << "nothing was thrown: " << why;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kTune);
      EXPECT_NE(std::string(e.what()).find("the default schedule of this computation fails: " + why), std::string::npos)
          << e.what();
    }
  };
  expect("*(volatile int*)8 = 1;", "crashed");
  expect("for (volatile int i = 0;; ++i) {}", "timeout");
  expect("y[-1] = 1;", "wrong_answer");
  EXPECT_EQ(measured(), 0u);
}

TEST_F(TunerFaults, ALogThatCannotBeWrittenIsKnownBeforeAnythingIsMeasured) {
  setenv(kRole, "builder", 1);
  EXPECT_THROW(tune_here("/proc/version", 0), Error);
  EXPECT_THROW(tune_here(folder_ / "none/log.jsonl", 0), Error);
  EXPECT_EQ(measured(), 0u);
}

}  // namespace
}  // namespace tw::autotune
