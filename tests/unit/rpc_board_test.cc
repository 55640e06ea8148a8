// A board over loopback, whose Runner measures nothing: sessions, blobs, tasks and jobs, and clients that do not
// behave.
#include "tests/unit/rpc_board.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "rpc/board/description.h"
#include "rpc/check/checks_text.h"
#include "rpc/check/outputs.h"
#include "src/runtime/inputs.h"
#include "src/support/json_text.h"
#include "tests/unit/rpc_board_client.h"
#include "tests/unit/rpc_loopback_board.h"

namespace tw::rpc {
namespace {

using test::Client;

std::string outputs_of_task() {
  const Checks checks = test::copy_task();
  return std::string(outputs_of(checks.args, *checks.reference).bytes());
}

TaskSpec task_spec() {
  return {.checks = support::to_text(to_json(test::copy_task())),
          .inputs_version = runtime::kInputsVersion,
          .reference = sha256(outputs_of_task())};
}

const Digest kTask = sha256(encode(task_spec()));

Job job(const std::string& object) {
  Job job{.name = {}, .task = kTask, .object = sha256(object)};
  job.name = name_of(job);
  return job;
}

bool has_no_session(const Board& board) { return !board.in_session(); }
uint64_t bytes_of_blobs(const Board& board) { return board.blobs().bytes(); }

class ABoard : public testing::Test {
 protected:
  explicit ABoard(double goes_on_s = 30) : goes_on_s_(goes_on_s) {}
  ~ABoard() override { bench.hold(false); }
  uint16_t port() const { return board.port(); }
  void prepare(Client& client) {
    client.store(outputs_of_task());
    client.say(task_spec(), 3);
    EXPECT_EQ(client.hear<TaskReady>().task, kTask);
    EXPECT_EQ(client.stream, 3);
  }
  void send(Client& client, const std::string& object, uint16_t stream = 5) {
    client.store(object);
    client.say(job(object), stream);
  }

  const double goes_on_s_;
  test::Bench bench;
  test::LoopbackBoard board{{.description = R"({"cores":2})",
                             .make_runner = test::stub_runners(bench),
                             .make_heat = test::cool,
                             .blob_bytes = 1 << 20,
                             .goes_on_s = goes_on_s_}};
};

class AnImpatientBoard : public ABoard {
 protected:
  AnImpatientBoard() : ABoard(0.2) {}
};

TEST_F(ABoard, SaysWhatItIs) {
  Client client(port());
  client.say(Describe{}, 4);
  EXPECT_EQ(client.hear<Description>().json, R"({"cores":2})");
  EXPECT_EQ(client.stream, 4);
  client.say(Ping{17});
  EXPECT_EQ(client.hear<Pong>().number, 17u);
}

TEST_F(ABoard, KeepsBlobsByWhatTheyHold) {
  Client client(port());
  const std::string large(2 * kChunkBytes + 1, 'x');
  client.store(large);
  client.say(Have{{sha256(large), sha256("other")}}, 9);
  EXPECT_EQ(client.hear<Present>().blobs, (std::vector<uint8_t>{1, 0}));
}

TEST_F(ABoard, MeasuresWhatItIsSent) {
  Client client(port());
  prepare(client);
  for (const char* object : {"a", "b", "c"}) send(client, object);
  for (const char* object : {"a", "b", "c"}) {
    const JobResult result = client.hear<JobResult>();
    EXPECT_EQ(result.name, job(object).name);
    EXPECT_EQ(result.status, "ok");
    EXPECT_EQ(result.seconds, 1e-3);
    EXPECT_EQ(result.hertz, 2e9);
    EXPECT_EQ(client.stream, 5);
  }
}

TEST_F(ABoard, SaysHowLongItMayBeSilent) {
  Client client(port());
  prepare(client);
  bench.hold(true);
  send(client, "a");
  const Busy busy = client.hear<Busy>();
  EXPECT_EQ(busy.name, job("a").name);
  EXPECT_GE(busy.milliseconds, 10'000u);
}

TEST_F(ABoard, RefusesABlobWithOtherBytes) {
  Client client(port());
  const Frame answer = client.put("some bytes", sha256("other bytes"));
  ASSERT_EQ(answer.type, MessageType::kError);
  EXPECT_NE(decode<ErrorReply>(answer.payload)->what.find("holds other bytes"), std::string::npos);
  client.say(Have{{sha256("some bytes"), sha256("other bytes")}});
  EXPECT_EQ(client.hear<Present>().blobs, (std::vector<uint8_t>{0, 0}));
  client.store("some bytes");
}

TEST_F(ABoard, RefusesBlobsBeyondItsLimit) {
  Client client(port());
  for (const uint64_t bytes : {(uint64_t{1} << 20) + 1, uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX}) {
    client.say(Put{sha256("large"), bytes}, 7);
    EXPECT_NE(client.hear<ErrorReply>().what.find("more than this board takes"), std::string::npos);
  }
  EXPECT_EQ(board.ask(bytes_of_blobs), 0u);
}

TEST_F(ABoard, ForgetsAnUploadWhoseClientIsGone) {
  {
    Client client(port());
    client.say(Put{sha256("never sent"), 1 << 20}, 7);
    client.hear<Credit>();
    EXPECT_EQ(board.ask(bytes_of_blobs), 1u << 20);
  }
  EXPECT_TRUE(board.becomes([](const Board& b) { return bytes_of_blobs(b) == 0 && has_no_session(b); }));
  Client(port()).store("the next client's");
}

TEST_F(ABoard, RunsNothingAgainForAClientThatIsBack) {
  {
    Client client(port());
    prepare(client);
    send(client, "a");
    client.hear<JobResult>();
    bench.hold(true);
    send(client, "b");
    send(client, "c");
    ASSERT_TRUE(bench.begun(2));
  }
  EXPECT_TRUE(board.becomes(has_no_session));
  Client client(port());
  for (const char* object : {"a", "b", "c"}) client.say(job(object), 6);
  bench.hold(false);
  std::vector<Digest> names;
  for (int i = 0; i < 3; ++i) names.push_back(client.hear<JobResult>().name);
  EXPECT_NE(std::ranges::find(names, job("c").name), names.end());
  EXPECT_EQ(client.stream, 6);
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(ABoard, DropsWhatWaitsForAClientThatIsGone) {
  {
    Client client(port());
    prepare(client);
    bench.hold(true);
    for (const char* object : {"a", "b", "c"}) send(client, object);
    ASSERT_TRUE(bench.begun(1));
  }
  EXPECT_TRUE(board.becomes(has_no_session));
  bench.hold(false);
  Client client(port());
  send(client, "d");
  EXPECT_EQ(client.hear<JobResult>().name, job("d").name);
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "d"}));
}

TEST_F(AnImpatientBoard, GivesUpWhatItMeasuresForAClientThatStaysAway) {
  {
    Client client(port());
    prepare(client);
    bench.hold(true);
    send(client, "a");
    ASSERT_TRUE(bench.begun(1));
  }
  EXPECT_TRUE(board.becomes([](const Board& b) { return !b.in_session() && b.busy_s() == 0; }));
  bench.hold(false);
  Client client(port());
  client.say(job("a"));
  EXPECT_EQ(client.hear<JobResult>().status, "ok");
  EXPECT_EQ(bench.so_far(), (std::vector<std::string>{"a", "a"})) << "it had no result";
}

TEST_F(ABoard, CancelsAJob) {
  Client client(port());
  prepare(client);
  bench.hold(true);
  send(client, "a");
  ASSERT_TRUE(bench.begun(1));
  client.say(Cancel{job("a").name});
  send(client, "b");
  ASSERT_TRUE(bench.begun(2));
  bench.hold(false);
  EXPECT_EQ(client.hear<JobResult>().name, job("b").name);
}

TEST_F(ABoard, AnswersWhatItCannotDoAndGoesOn) {
  Client client(port());
  const auto refused = [&](const auto& message, const std::string& why) {
    client.say(message, 8);
    EXPECT_NE(client.hear<ErrorReply>().what.find(why), std::string::npos) << why;
    EXPECT_EQ(client.stream, 8);
  };
  refused(task_spec(), "does not have the blob " + to_hex(sha256(outputs_of_task())));
  refused(job("a"), "does not have the blob");
  client.store("a");
  refused(job("a"), "the task of this job is not here");
  Job renamed = job("a");
  renamed.candidate = 1;
  refused(renamed, "another name than what it is");
  TaskSpec spec = task_spec();
  spec.checks = "{}";
  refused(spec, "the task makes no sense");
  spec.checks = std::string(1000, '[');
  refused(spec, "the task makes no sense");
  spec = task_spec();
  spec.reference = client.store("short");
  refused(spec, "none or two references");
  spec = task_spec();
  spec.inputs_version = 99;
  refused(spec, "inputs that this release does not make");
  refused(Granted{}, "breaks the protocol");
  client.say(MessageType::kJob, "too short", 8);
  EXPECT_NE(client.hear<ErrorReply>().what.find("breaks the protocol"), std::string::npos);
  prepare(client);
}

TEST_F(ABoard, ServesOneClientAtATime) {
  Client first(port()), second(port());
  const ErrorReply busy = second.hear<ErrorReply>();
  EXPECT_NE(busy.what.find("in a session with 127.0.0.1"), std::string::npos);
  EXPECT_TRUE(second.ended());
  first.say(Ping{1});
  first.hear<Pong>();
}

TEST_F(ABoard, TakesAnotherClientWhenTheFirstDoesNotAnswer) {
  Client stopped(port());
  stopped.raw(std::string(3, '\0'));  // of a frame's head
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  Client next(port());
  next.say(Ping{1});
  EXPECT_EQ(next.hear<Pong>().number, 1u);
  stopped.hear<Ping>();
  EXPECT_TRUE(stopped.ended());
}

TEST_F(ABoard, KeepsAClientThatWasOnlySilent) {
  Client first(port());
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  std::jthread answers([&] {
    first.hear<Ping>();
    first.say(Pong{});
  });
  Client second(port());
  EXPECT_NE(second.hear<ErrorReply>().what.find("in a session"), std::string::npos);
}

TEST_F(ABoard, EndsWithAClientThatReadsNoAnswers) {
  Client client(port());
  prepare(client);
  send(client, "a");
  client.hear<JobResult>();
  const std::string one = encode(job("a"));
  std::string many;
  const auto header = encode(FrameHeader{static_cast<uint32_t>(one.size()), MessageType::kJob, 5});
  for (int i = 0; i < 1000; ++i) many += std::string(header.data(), header.size()) + one;
  try {
    for (int i = 0; i < 1000; ++i) client.raw(many);
  } catch (const std::exception&) {  // closed there
  }
  EXPECT_TRUE(board.becomes(has_no_session));
  EXPECT_EQ(bench.so_far(), std::vector<std::string>{"a"});
}

TEST(BoardDescriptions, AreReadAsTheyWereWritten) {
  BoardDescription board;
  board.machine = {.hardware = {.cpu_model = "cortex-a72", .cores = 4}, .threads = 4, .clock = 1.5e9};
  board.target = "llvm -mcpu=cortex-a72";
  board.cpu.triple = "aarch64-unknown-linux-gnu";
  board.cpu.name = "cortex-a72";
  board.cpu.features = {"neon"};
  board.sandbox = {{"seccomp", ""}, {"landlock", "this kernel does not have it"}};
  board.memory_mb = 3792;
  board.page_bytes = 16384;
  board.release = "0.1.0";
  const BoardDescription read = board_from(to_text(board));
  EXPECT_EQ(to_text(read), to_text(board));
  EXPECT_EQ(read.machine.hardware_name(), board.machine.hardware_name());
  EXPECT_FALSE(read.sandbox[1].holds());
  EXPECT_THROW(board_from("{}"), Error);
  EXPECT_THROW(board_from("no JSON"), Error);
}

}  // namespace
}  // namespace tw::rpc
