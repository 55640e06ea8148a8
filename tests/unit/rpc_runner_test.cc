// RPCRunner with boards of this process, that answer, go away, lie and break the protocol.
#include "tensorwright/rpc_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <future>

#include "rpc/client/boards.h"
#include "rpc/net/endpoint.h"
#include "src/runtime/inputs.h"
#include "tests/unit/rpc_fake_board.h"

namespace tw::rpc {
namespace {

using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;
using testing::FakeBoard;

runtime::ArgSpec vector_of(const std::string& name, bool written) {
  runtime::ArgSpec spec;
  spec.name = name;
  spec.dtype = ir::parse_type("float32").value();
  spec.shape = {256};
  spec.written = written;
  return spec;
}

RunRequest request_of(uint64_t candidate) {
  static const Blob kReference = runtime::random_inputs({vector_of("x", false), vector_of("y", true)});
  RunRequest request;
  request.object = Blob("object " + std::to_string(candidate));
  request.kernel = "candidate";
  request.args = {vector_of("x", false), vector_of("y", true)};
  request.inputs_version = runtime::kInputsVersion;
  request.reference = kReference;
  request.rtol = request.atol = {0, 0};
  request.candidate = candidate;
  return request;
}

RPCRunnerOptions options_of(const std::vector<const FakeBoard*>& boards) {
  RPCRunnerOptions options;
  for (const FakeBoard* board : boards) options.boards.push_back(board->address());
  return options;
}

// By as many threads as it has slots.
std::vector<RunResult> run_all(RPCRunner& runner, int count) {
  std::vector<RunResult> results(static_cast<size_t>(count));
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int s = 0; s < runner.slots(); ++s)
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++)
        results[static_cast<size_t>(i)] = runner.run(request_of(static_cast<uint64_t>(i)));
    });
  threads.clear();
  return results;
}

void expect_times(const std::vector<RunResult>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].status, RunStatus::kOk) << i << " " << results[i].detail;
    EXPECT_DOUBLE_EQ(results[i].seconds, 1e-3 * (1 + static_cast<double>(i) / 1000));
  }
}

template <class F>
Error thrown_by(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(Diagnostic{ErrorKind::kInternal, "", {}, {}});
}

bool says(const Error& error, const std::string& part) {
  return std::string(error.what()).find(part) != std::string::npos;
}

TEST(RPCRunner, MeasuresOnSeveralBoardsAndCarriesNothingTwice) {
  FakeBoard a({.run_ms = 2}), b({.run_ms = 2});
  RPCRunner runner(options_of({&a, &b}));
  EXPECT_EQ(runner.slots(), 6);
  EXPECT_EQ(runner.machine().hardware_name(), "a fake board, 4 cores");
  EXPECT_EQ(runner.why_not(Target::parse(runner.target()).value_or_throw()), "");
  EXPECT_EQ(runner.state(), "2 boards");
  const std::vector<RunResult> results = run_all(runner, 60);
  expect_times(results);
  EXPECT_EQ(results[0].place.board.substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(results[0].place.governor, "performance");
  EXPECT_EQ(a.jobs + b.jobs, 60);
  EXPECT_GT(a.jobs, 15);
  EXPECT_GT(b.jobs, 15);
  EXPECT_EQ(a.tasks + b.tasks, 2) << "a task is sent to each once";
  EXPECT_LT(a.received + b.received, 2 * 1024 + 60 * 9 + 100) << "the reference, and objects";
}

TEST(RPCRunner, ABoardHasWorkBeforeItIsDone) {
  FakeBoard board({.run_ms = 20});
  RPCRunner runner(options_of({&board}));
  const auto start = std::chrono::steady_clock::now();
  expect_times(run_all(runner, 30));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(900)) << "of 600";
}

TEST(RPCRunner, EachRunIsAMeasurementOfItsOwn) {
  FakeBoard board;
  for (int tuning = 0; tuning < 2; ++tuning) {
    RPCRunner runner(options_of({&board}));
    for (int run = 0; run < 2; ++run) EXPECT_EQ(runner.run(request_of(1)).status, RunStatus::kOk);
  }
  EXPECT_EQ(board.jobs, 4);
  EXPECT_EQ(board.most_runs(), 1) << "of one job";
}

TEST(RPCRunner, AnswersInAnyOrderAreTheirJobs) {
  FakeBoard board({.reversed = true});
  RPCRunner runner(options_of({&board}));
  expect_times(run_all(runner, 12));
}

TEST(RPCRunner, AConnectionThatEndsCostsNothing) {
  FakeBoard board({.run_ms = 5});
  RPCRunner runner(options_of({&board}));
  std::jthread breaking([&] {
    for (int i = 1; i <= 3; ++i) {
      while (board.jobs < 10 * i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      board.drop();
    }
  });
  expect_times(run_all(runner, 40));
  EXPECT_GE(board.connections, 4);
  EXPECT_EQ(board.most_runs(), 1) << "a job ran again whose result the board had";
}

TEST(RPCRunner, ABoardThatWasStartedAgainGoesOn) {
  auto board = std::make_unique<FakeBoard>(FakeBoard::Behaviour{.run_ms = 5});
  const uint16_t port = board->port();
  RPCRunner runner(options_of({board.get()}));
  auto results = std::async(std::launch::async, [&] { return run_all(runner, 40); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  board.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(runner.state(), "1 board, 127.0.0.1 away");
  board = std::make_unique<FakeBoard>(FakeBoard::Behaviour{}, port);
  expect_times(results.get());
}

TEST(Boards, TheJobsOfALostBoardGoToTheOthers) {
  auto away = std::make_unique<FakeBoard>(FakeBoard::Behaviour{.silent = true});
  FakeBoard there;
  Boards boards({dial_board("away", parse_endpoint(away->address(), "a board"), {}),
                 dial_board("there", parse_endpoint(there.address(), "a board"), {})},
                0.5);
  const auto task = std::make_shared<RemoteTask>();
  task->name = sha256(encode(task->spec));
  std::vector<std::future<BoardResult>> results;
  for (uint64_t i = 0; i < 20; ++i) {
    Job job{.name = {}, .task = task->name, .object = {}, .candidate = i};
    job.name = name_of(job);
    results.push_back(boards.measure(task, parcel(Blob("object")), job));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  away.reset();
  for (std::future<BoardResult>& result : results) {
    const BoardResult r = result.get();
    EXPECT_EQ(r.board, "there");
    EXPECT_EQ(r.result.status, "ok");
  }
  EXPECT_EQ(boards.state(), "2 boards, away away");
}

TEST(Boards, WhereNoBoardIsLeftThatIsAnError) {
  auto board = std::make_unique<FakeBoard>(FakeBoard::Behaviour{.silent = true});
  Boards boards({dial_board("pi4-1", parse_endpoint(board->address(), "a board"), {})}, 0.5);
  auto result = boards.measure(std::make_shared<RemoteTask>(), parcel(Blob("object")), Job{});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  board.reset();
  const Error error = thrown_by([&] { result.get(); });
  EXPECT_EQ(error.kind(), ErrorKind::kRpc);
  EXPECT_TRUE(says(error, "no board is left")) << error.what();
  EXPECT_TRUE(says(error, "pi4-1")) << error.what();
}

TEST(RPCRunner, WhoBreaksTheProtocolIsLostAndNoJobIs) {
  FakeBoard::Behaviour other_job;
  other_job.result = [](const Job& job) {
    JobResult result = FakeBoard::invented(job);
    result.name.bytes[0] ^= 1;
    return result;
  };
  FakeBoard::Behaviour no_status;
  no_status.result = [](const Job& job) {
    JobResult result = FakeBoard::invented(job);
    result.status = "splendid";
    return result;
  };
  for (const FakeBoard::Behaviour& bad : {FakeBoard::Behaviour{.garbage = true}, other_job, no_status}) {
    FakeBoard lying(bad), honest;
    RPCRunner runner(options_of({&lying, &honest}));
    expect_times(run_all(runner, 30));
    EXPECT_EQ(lying.connections, 1) << "it is not dialled again";
  }
}

TEST(RPCRunner, TimesThatCannotBeAreNone) {
  FakeBoard::Behaviour lies;
  lies.result = [](const Job& job) {
    JobResult result = FakeBoard::invented(job);
    result.celsius = NAN;
    result.seconds = 1e-9;
    return result;
  };
  FakeBoard board(lies);
  RPCRunner runner(options_of({&board}));
  RunRequest request = request_of(1);
  request.lower_bound_s = 1e-6;
  const RunResult result = runner.run(request);
  EXPECT_EQ(result.status, RunStatus::kTooFast);
  EXPECT_EQ(result.place.celsius, 0);
}

TEST(RPCRunner, AHotBoardIsShownAndItsJobIsNobodysFault) {
  FakeBoard::Behaviour hot;
  hot.result = [](const Job& job) {
    JobResult result;
    result.name = job.name;
    result.status = "throttled";
    result.detail = "the board was too hot each time";
    return result;
  };
  FakeBoard board(hot);
  RPCRunner runner(options_of({&board}));
  const RunResult result = runner.run(request_of(1));
  EXPECT_EQ(result.status, RunStatus::kDeviceLost);
  EXPECT_NE(result.detail.find("hot"), std::string::npos);
  EXPECT_EQ(runner.state(), "1 board, 127.0.0.1 throttled");
}

TEST(RPCRunner, WhatABoardRefusesIsTheCallersError) {
  FakeBoard board({.refusal = "this machine can't run code for a toaster"});
  RPCRunner runner(options_of({&board}));
  const Error error = thrown_by([&] { runner.run(request_of(1)); });
  EXPECT_EQ(error.kind(), ErrorKind::kTarget);
  EXPECT_TRUE(says(error, "toaster"));
}

TEST(RPCRunner, WhatIsCancelledEndsAndLaterRunsRun) {
  FakeBoard board({.run_ms = 400});
  RPCRunner runner(options_of({&board}));
  auto result = std::async(std::launch::async, [&] { return runner.run(request_of(1)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto start = std::chrono::steady_clock::now();
  runner.cancel();
  EXPECT_EQ(result.get().status, RunStatus::kDeviceLost);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  EXPECT_EQ(runner.run(request_of(2)).status, RunStatus::kOk);
}

TEST(RPCRunner, BoardsMustBeThereAndAlike) {
  uint16_t nobody = 0;
  {
    const FakeBoard gone;
    nobody = gone.port();
  }
  RPCRunnerOptions away;
  away.boards = {"127.0.0.1:" + std::to_string(nobody)};
  const Error error = thrown_by([&] { RPCRunner runner(away); });
  EXPECT_EQ(error.kind(), ErrorKind::kRpc);
  EXPECT_TRUE(says(error, std::to_string(nobody))) << error.what();

  FakeBoard pi4({.hardware = "cortex-a72, 4 cores"}), pi5({.hardware = "cortex-a76, 4 cores"});
  const Error differ = thrown_by([&] { RPCRunner runner(options_of({&pi4, &pi5})); });
  for (const std::string& part : std::vector<std::string>{"alike", "cortex-a72", "cortex-a76", pi5.address()})
    EXPECT_TRUE(says(differ, part)) << differ.what();

  EXPECT_EQ(thrown_by([&] { RPCRunner runner(options_of({&pi4, &pi4})); }).kind(), ErrorKind::kArgument);
  EXPECT_EQ(thrown_by([&] { RPCRunner runner(RPCRunnerOptions{}); }).kind(), ErrorKind::kArgument);
}

TEST(RPCRunner, ATargetThatTheBoardsCannotRunIsNamedWithOneThatTheyCan) {
  FakeBoard board;
  const RPCRunner runner(options_of({&board}));
  Target foreign;
  foreign.kind = "llvm";
  foreign.triple = "riscv64-linux-gnu";
  const std::string why = runner.why_not(foreign);
  EXPECT_NE(why.find("the board is a"), std::string::npos) << why;
  EXPECT_NE(why.find("target=\"" + runner.target() + "\""), std::string::npos) << why;
  Target newer = foreign;
  newer.triple = Target::host().triple;
  newer.features = {"a-feature-of-tomorrow"};
  EXPECT_NE(runner.why_not(newer).find("lacks a-feature-of-tomorrow"), std::string::npos);
}

}  // namespace
}  // namespace tw::rpc
