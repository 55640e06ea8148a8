#include <gtest/gtest.h>

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "rpc/client/tracker_client.h"
#include "rpc/tracker/registration.h"
#include "rpc/tracker/server.h"

namespace tw::rpc {
namespace {

using asio::awaitable;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

const char* const kTwoCores = R"({"hardware":"Cortex-A53","cores":2})";
const char* const kFourCores = R"({"hardware":"Cortex-A72","cores":4})";

Secret secret_of(uint8_t byte) {
  Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

awaitable<void> pause(double seconds) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::microseconds(int64_t(seconds * 1e6)));
  co_await timer.async_wait(asio::use_awaitable);
}

// A board's session: each frame comes back.
awaitable<void> echo(Connection connection) {
  co_await greet(connection, Role::kBoard, Role::kClient);
  for (;;) {
    const Frame frame = co_await connection.receive();
    co_await connection.send(frame.type, frame.stream, frame.payload);
  }
}

awaitable<std::string> said_back(Connection connection, std::string text) {
  co_await connection.send(MessageType::kChunk, 0, text);
  const Frame frame = co_await connection.receive();
  co_return frame.payload;
}

class ATrackerServer : public testing::Test {
 public:
  void start(std::optional<Secret> with = {}, uint16_t port = 0) {
    secret = std::move(with);
    tracker.emplace(context.get_executor(), Endpoint{"127.0.0.1", port}, secret);
    asio::co_spawn(context, tracker->run(), asio::detached);
  }
  TrackerAddress there() { return {{"127.0.0.1", tracker->port()}, secret}; }
  Registration& board(const std::string& name, const char* description = kFourCores) {
    Registration::Options options;
    options.tracker = there().at;
    options.secret = secret;
    options.key = "rpi4";
    options.name = name;
    options.description = description;
    options.serve = echo;
    options.health = [this] { return health; };
    options.report = [this](const std::string& what) { reports += what + "\n"; };
    Registration& added = boards.emplace_back(context.get_executor(), std::move(options));
    asio::co_spawn(context, added.run(), asio::detached);
    return added;
  }
  // Until the client's coroutine has ended; then all ends. What it threw comes out.
  void run(awaitable<void> client, double seconds = 30) {
    std::exception_ptr thrown;
    bool ended = false;
    asio::co_spawn(context, std::move(client), [&](std::exception_ptr e) {
      thrown = e;
      ended = true;
      for (Registration& b : boards) b.stop();
      if (tracker) tracker->stop();
    });
    context.run_for(std::chrono::milliseconds(int64_t(seconds * 1e3)));
    EXPECT_TRUE(ended) << "it does not end";
    EXPECT_TRUE(context.stopped()) << "something goes on";
    if (thrown) std::rethrow_exception(thrown);
  }
  std::string refused(awaitable<void> client) {
    try {
      run(std::move(client));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRpc);
      return error.what();
    }
    return "nothing was refused";
  }

  // A session on any board of the key, both greeted.
  awaitable<GrantedBoard> session(WantedBoard wanted) {
    GrantedBoard board = co_await request_board(there(), wanted);
    co_await greet(board.connection, Role::kClient, Role::kBoard);
    co_return board;
  }
  awaitable<void> use(WantedBoard wanted) {
    const GrantedBoard board = co_await session(wanted);
    const std::string back = co_await said_back(board.connection, "hello");
    EXPECT_EQ(back, "hello");
  }
  awaitable<GrantedBoard> session() { return session({"rpi4"}); }
  awaitable<void> use() { return use({"rpi4"}); }
  // Of the board by its name, "" of none.
  awaitable<std::string> status(std::string name) {
    const std::string summary = co_await query_tracker(there());
    const Json json = Json::parse(summary);
    for (const Json& b : json["boards"])
      if (b["name"] == name) co_return b["status"].get<std::string>();
    co_return "";
  }
  awaitable<void> until(std::string name, std::string wanted) {
    std::string is;
    for (int i = 0; i < 200; ++i) {
      is = co_await status(name);
      if (is == wanted) co_return;
      co_await pause(0.05);
    }
    ADD_FAILURE() << name << " is " << is << ", not " << wanted;
  }
  // A board's first connection without anything behind it.
  awaitable<Connection> register_only(std::string name) {
    Connection connection = co_await dial(there().at, secret, 5);
    co_await greet(connection, Role::kBoard, Role::kTracker);
    const Register hello{"rpi4", name, kFourCores};
    co_await connection.send(hello);
    const Frame frame = co_await connection.receive();
    EXPECT_EQ(read_as<Registered>(frame).name, name);
    co_return connection;
  }

  asio::io_context context{1};
  std::optional<Secret> secret;
  std::optional<TrackerServer> tracker;
  std::list<Registration> boards;
  BoardHealth health;
  std::string reports;
};

TEST_F(ATrackerServer, BringsAClientToABoard) {
  start();
  board("a");
  run(use());
}

TEST_F(ATrackerServer, BringsAClientToABoardInTls) {
  start(secret_of(7));
  board("a");
  run(use());
}

TEST_F(ATrackerServer, CarriesLongFramesWhole) {
  start(secret_of(7));
  board("a");
  run([](ATrackerServer& t) -> awaitable<void> {
    const GrantedBoard b = co_await t.session();
    const std::string text(kChunkBytes, 'x');
    for (int i = 0; i < 20; ++i) {
      const std::string back = co_await said_back(b.connection, text);
      EXPECT_EQ(back, text);
    }
  }(*this));
}

TEST_F(ATrackerServer, TheLeaseEndsWithTheConnection) {
  start();
  board("a");
  run([](ATrackerServer& t) -> awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      const auto start = Clock::now();
      {
        const GrantedBoard b = co_await t.session();
        EXPECT_EQ(b.name, "a");
        const std::string is = co_await t.status("a");
        EXPECT_EQ(is, "leased");
      }
      co_await t.until("a", "free");
      EXPECT_LT(since(start), 1);
    }
  }(*this));
}

TEST_F(ATrackerServer, ServesTheHighestPriorityFirst) {
  start();
  board("a");
  std::vector<std::string> order;
  run([](ATrackerServer& t, std::vector<std::string>& served) -> awaitable<void> {
    {
      const GrantedBoard held = co_await t.session();
      const auto wait = [&](const char* name, int priority) {
        asio::co_spawn(
            t.context,
            [](ATrackerServer& tracker, std::vector<std::string>& list, std::string who, int p) -> awaitable<void> {
              const WantedBoard wanted{"rpi4", "", p};
              const GrantedBoard b = co_await tracker.session(wanted);
              list.push_back(who);
            }(t, served, name, priority),
            asio::detached);
      };
      wait("first", 0);
      co_await pause(0.1);
      wait("second", 0);
      wait("urgent", 3);
      co_await pause(0.2);
      const std::string summary = co_await query_tracker(t.there());
      const Json queue = Json::parse(summary)["queue"];
      EXPECT_EQ(queue.size(), 3u);
      EXPECT_EQ(queue[0]["priority"], 3);
    }
    while (served.size() < 3) co_await pause(0.05);
  }(*this, order));
  EXPECT_EQ(order, (std::vector<std::string>{"urgent", "first", "second"}));
}

TEST_F(ATrackerServer, APredicateThatNoBoardMeetsIsRefusedInTime) {
  start();
  board("a", kTwoCores);
  const auto start = Clock::now();
  const std::string why = refused([](ATrackerServer& t) -> awaitable<void> {
    co_await t.until("a", "free");
    const WantedBoard wanted{"rpi4", "cores >= 4", 0, 1};
    co_await t.use(wanted);
  }(*this));
  EXPECT_EQ(why, "no board of the key rpi4 meets cores >= 4\n    a: cores is 2, not >= 4");
  EXPECT_LT(since(start), 3);
}

TEST_F(ATrackerServer, APredicateThatIsNoneIsRefusedAtOnce) {
  start();
  const std::string why = refused(use({"rpi4", "cores >="}));
  EXPECT_NE(why.find("the predicate has to have a number"), std::string::npos) << why;
}

TEST_F(ATrackerServer, ASessionThatHasLastedLongEnoughEndsAndSaysSo) {
  start();
  board("a");
  const std::string why = refused([](ATrackerServer& t) -> awaitable<void> {
    const WantedBoard wanted{"rpi4", "", 0, 5, 0.5};
    const GrantedBoard b = co_await t.session(wanted);
    Connection connection = b.connection;
    const Frame frame = co_await connection.receive();
    refuse_frame(frame);
  }(*this));
  EXPECT_EQ(why,
            "the lease has ended: its session has lasted for 0.5 s\n"
            "    a board can be asked for again");
}

TEST_F(ATrackerServer, ABoardThatGoesEndsItsSession) {
  start();
  Registration& a = board("a");
  const std::string why = refused([](ATrackerServer& t, Registration& goes) -> awaitable<void> {
    const GrantedBoard b = co_await t.session();
    goes.stop();
    Connection connection = b.connection;
    const Frame frame = co_await connection.receive();
    refuse_frame(frame);
  }(*this, a));
  const bool known = why.find("the board is lost") != std::string::npos;  // by the connection that ends first
  EXPECT_TRUE(known || why.find("closed there") != std::string::npos) << why;
}

TEST_F(ATrackerServer, ABoardThatFallsSilentIsLostAfterThreeSeconds) {
  start();
  run([](ATrackerServer& t) -> awaitable<void> {
    const Connection silent = co_await t.register_only("a");
    const auto start = Clock::now();
    co_await t.until("a", "lost");
    EXPECT_GT(since(start), 2.9);
    EXPECT_LT(since(start), 4);
  }(*this));
}

TEST_F(ATrackerServer, ABoardThatDoesNotComeIsLostAndItsClientGetsAnother) {
  start();
  run([](ATrackerServer& t) -> awaitable<void> {
    Connection does_not = co_await t.register_only("a");
    asio::co_spawn(
        t.context,
        [](Connection c) -> awaitable<void> {
          for (int i = 0; i < 8; ++i) {
            const Heartbeat beat{};
            co_await c.send(beat);
            co_await pause(1);
          }
        }(does_not),
        asio::detached);
    co_await pause(0.1);
    t.board("b");
    const GrantedBoard b = co_await t.session();
    EXPECT_EQ(b.name, "b");
    const std::string is = co_await t.status("a");
    EXPECT_EQ(is, "lost");
    does_not.close("it was enough");
  }(*this));
}

TEST_F(ATrackerServer, BoardsComeBackAfterItHasStartedAgain) {
  start();
  board("a");
  run([](ATrackerServer& t) -> awaitable<void> {
    const uint16_t port = t.tracker->port();
    const GrantedBoard held = co_await t.session();
    t.tracker->stop();
    Connection connection = held.connection;
    bool lost = false;
    try {
      co_await connection.receive();
    } catch (const ConnectionLost&) {
      lost = true;
    }
    EXPECT_TRUE(lost);
    co_await pause(0.5);
    const auto start = Clock::now();
    t.start({}, port);
    co_await t.use();
    EXPECT_LT(since(start), 5);
  }(*this));
  EXPECT_NE(reports.find("it is tried again until it works"), std::string::npos) << reports;
}

TEST_F(ATrackerServer, ABoardThatLosesWorkersIsQuarantinedUntilItIsReleased) {
  start();
  board("a");
  run([](ATrackerServer& t) -> awaitable<void> {
    co_await t.use();
    t.health = {3, "SIGKILL"};
    co_await t.until("a", "quarantined");
    t.health = {};
    co_await pause(1.2);
    const std::string is = co_await t.status("a");
    EXPECT_EQ(is, "quarantined");
    co_await release_board(t.there(), "a");
    co_await t.use();
  }(*this));
}

TEST_F(ATrackerServer, WhatIsNotQuarantinedIsNotReleased) {
  start();
  const std::string why =
      refused([](ATrackerServer& t) -> awaitable<void> { co_await release_board(t.there(), "a"); }(*this));
  EXPECT_NE(why.find("no board named a is quarantined"), std::string::npos) << why;
}

TEST_F(ATrackerServer, NobodyWithAnotherSecretOrNoneGetsIn) {
  for (const auto& [ours, theirs] : std::vector<std::pair<std::optional<Secret>, std::optional<Secret>>>{
           {secret_of(1), secret_of(2)}, {secret_of(1), {}}, {{}, secret_of(1)}}) {
    context.restart();
    start(ours);
    secret = theirs;
    const auto start = Clock::now();
    const std::string why = refused(use());
    EXPECT_NE(why.find("secret"), std::string::npos) << why;
    EXPECT_LT(since(start), 6);
    EXPECT_EQ(why.find("was refused"), std::string::npos);
  }
}

TEST_F(ATrackerServer, ABoardThatIsRefusedSaysWhy) {
  start();
  board("two words");
  run([](ATrackerServer& t) -> awaitable<void> {
    while (t.reports.empty()) co_await pause(0.05);
    co_await pause(1);
  }(*this));
  EXPECT_EQ(reports.find("a board's name has to be 1 to 64 visible characters of ASCII"), 0u) << reports;
  EXPECT_EQ(std::count(reports.begin(), reports.end(), '\n'), 2) << "once, though it is tried again:\n" << reports;
}

TEST_F(ATrackerServer, ABoardGivesUpWhereItIsToldTo) {
  start();
  Registration::Options options;
  options.tracker = there().at;
  options.key = options.name = "a";
  options.serve = echo;
  options.give_up_s = 0.5;
  tracker->stop();
  Registration board(context.get_executor(), options);
  const std::string why = refused(board.run());
  EXPECT_NE(why.find("cannot be reached"), std::string::npos) << why;
}

TEST_F(ATrackerServer, WhoKnowsNoTokenIsNoOnesBoard) {
  start();
  const std::string why = refused([](ATrackerServer& t) -> awaitable<void> {
    Connection connection = co_await dial(t.there().at, {}, 5);
    co_await greet(connection, Role::kBoard, Role::kTracker);
    const Attach guess{"0123"};
    co_await connection.send(guess);
    co_await connection.receive();
  }(*this));
  EXPECT_NE(why.find("was closed there"), std::string::npos) << why;
}

// What has to be stopped on it goes after it.
class Thread {
 public:
  void run() {
    thread_ = std::thread([this] { context.run(); });
  }
  void join(std::function<void()> stop) {
    asio::post(context, std::move(stop));
    thread_.join();
  }
  asio::io_context context{1};

 private:
  std::thread thread_;
};

// Tracker, board and client are machines of their own.
TEST(TheRelay, IsFast) {
  const Secret secret = secret_of(9);
  Thread at_tracker, at_board;
  TrackerServer tracker(at_tracker.context.get_executor(), {"127.0.0.1", 0}, secret);
  asio::co_spawn(at_tracker.context, tracker.run(), asio::detached);
  Registration::Options options;
  options.tracker = {"127.0.0.1", tracker.port()};
  options.secret = secret;
  options.key = options.name = "a";
  options.description = kFourCores;
  options.serve = echo;
  Registration board(at_board.context.get_executor(), options);
  asio::co_spawn(at_board.context, board.run(), asio::detached);
  at_tracker.run();
  at_board.run();
  asio::io_context context;
  std::vector<double> calls;
  double bytes_per_s = 0;
  asio::co_spawn(
      context,
      [](TrackerAddress at, std::vector<double>& times, double& rate) -> awaitable<void> {
        const WantedBoard wanted{"a"};
        const GrantedBoard b = co_await request_board(at, wanted);
        co_await greet(b.connection, Role::kClient, Role::kBoard);
        for (int i = 0; i < 2000; ++i) {
          const auto start = Clock::now();
          co_await said_back(b.connection, "");
          times.push_back(since(start));
        }
        const std::string chunk(kChunkBytes, 'x');
        const auto start = Clock::now();
        for (int i = 0; i < 100; ++i) co_await said_back(b.connection, chunk);
        rate = 100.0 * kChunkBytes / since(start);
      }({options.tracker, secret}, calls, bytes_per_s),
      [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
      });
  context.run_for(std::chrono::seconds(60));
  at_board.join([&] { board.stop(); });
  at_tracker.join([&] { tracker.stop(); });
  ASSERT_EQ(calls.size(), 2000u);
  std::sort(calls.begin(), calls.end());
  const double p50 = calls[1000] * 1e6, p99 = calls[1980] * 1e6;
  std::printf("an empty call through the tracker: p50 %.0f us, p99 %.0f us; %.0f MB/s each way\n", p50, p99,
              bytes_per_s / 1e6);
  EXPECT_LT(p50, 5e3) << "an order of magnitude slower than on an idle machine";
  EXPECT_GT(bytes_per_s, 0);
}

}  // namespace
}  // namespace tw::rpc
