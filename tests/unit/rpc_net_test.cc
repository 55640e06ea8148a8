#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>

#include "rpc/net/connection.h"
#include "rpc/net/listener.h"
#include "src/support/temporary_folder.h"

// OpenSSL asks this for the date, not libc: it says by turns 1970 and 2096 where a test wants that.
namespace {
std::atomic<bool> date_jumps{false};
std::atomic<int> dates_asked{0};
}  // namespace
extern "C" __attribute__((visibility("default"))) time_t time(time_t* out) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (date_jumps) now.tv_sec = dates_asked++ % 2 == 0 ? 1000 : 4'000'000'000;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

namespace tw::rpc {
namespace {

using asio::awaitable;
using asio::ip::tcp;

const Endpoint kAnyPort{"127.0.0.1", 0};

Secret secret_of(uint8_t byte) {
  Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

awaitable<void> pause(double seconds) {
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
  co_await timer.async_wait(asio::use_awaitable);
}

// Says each frame back.
awaitable<void> echo(Connection connection, Hello) {
  for (;;) {
    const Frame frame = co_await connection.receive();
    co_await connection.send(frame.type, frame.stream, frame.payload);
  }
}

// One who listens and says all back, and a client's coroutine, until that ends. What it threw comes out.
class Net {
 public:
  explicit Net(std::optional<Secret> secret = {}, Listener::Serve serve = echo)
      : listener(context.get_executor(), kAnyPort, std::move(secret)) {
    asio::co_spawn(context, listener.run(Role::kBoard, Role::kClient, std::move(serve)), asio::detached);
  }
  Endpoint there() const { return {"127.0.0.1", listener.port()}; }
  void run(awaitable<void> client) {
    std::exception_ptr thrown;
    bool ended = false;
    asio::co_spawn(context, std::move(client), [&](std::exception_ptr e) {
      thrown = e;
      ended = true;
      listener.stop();
    });
    context.run_for(std::chrono::seconds(30));
    EXPECT_TRUE(ended) << "it does not end";
    if (thrown) std::rethrow_exception(thrown);
  }
  asio::io_context context{1};
  Listener listener;
};

template <class Run>
std::string refused(Run run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRpc);
    return error.what();
  }
  return "nothing was refused";
}

awaitable<void> call(Endpoint to, std::optional<Secret> secret, std::string text) {
  Connection connection = co_await dial(to, secret, 5);
  const Hello hello = co_await greet(connection, Role::kClient, Role::kBoard);
  EXPECT_EQ(hello.role, Role::kBoard);
  co_await connection.send(MessageType::kChunk, 7, text);
  const Frame back = co_await connection.receive();
  EXPECT_EQ(back.type, MessageType::kChunk);
  EXPECT_EQ(back.stream, 7);
  EXPECT_EQ(back.payload, text);
}

TEST(Net, FramesGoThereAndBack) {
  Net net;
  net.run(call(net.there(), {}, std::string(kChunkBytes, 'x')));
}

TEST(Net, FramesGoThereAndBackInTls) {
  Net net(secret_of(1));
  net.run(call(net.there(), secret_of(1), std::string(kChunkBytes, 'x')));
}

TEST(Net, ADateThatJumpsIsNoReasonToRefuse) {
  dates_asked = 0;
  date_jumps = true;
  for (int i = 0; i < 4; ++i) {
    Net net(secret_of(1));
    EXPECT_NO_THROW(net.run(call(net.there(), secret_of(1), "hello")));
    ++dates_asked;  // each of the handshake's questions once before a jump and once after one
  }
  date_jumps = false;
  EXPECT_GT(dates_asked, 4) << "OpenSSL asks another clock";
}

TEST(Net, AnotherSecretGetsNoFurtherThanTheHandshake) {
  Net net(secret_of(1));
  const std::string why = refused([&] { net.run(call(net.there(), secret_of(2), "hello")); });
  EXPECT_NE(why.find("could not agree on an encrypted connection"), std::string::npos) << why;
}

TEST(Net, WhoHasNoSecretIsToldSo) {
  Net net(secret_of(1));
  const std::string why = refused([&] { net.run(call(net.there(), {}, "hello")); });
  EXPECT_NE(why.find("the other side may want a secret"), std::string::npos) << why;
}

TEST(Net, ASecretIsNotDoneWithout) {
  Net net;
  const std::string why = refused([&] { net.run(call(net.there(), secret_of(1), "hello")); });
  EXPECT_NE(why.find("a side without one speaks only in the clear"), std::string::npos) << why;
}

TEST(Net, WithoutASecretOnlyThisMachineIsListenedTo) {
  asio::io_context context;
  const std::string why = refused([&] { Listener(context.get_executor(), Endpoint{"0.0.0.0", 0}, std::nullopt); });
  EXPECT_NE(why.find("without a secret only this machine is listened to, not 0.0.0.0:0"), std::string::npos) << why;
}

TEST(Net, APortThatIsTakenIsNamed) {
  asio::io_context context;
  const Listener first(context.get_executor(), kAnyPort, std::nullopt);
  const Endpoint same{"127.0.0.1", first.port()};
  const std::string why = refused([&] { Listener(context.get_executor(), same, std::nullopt); });
  EXPECT_NE(why.find("cannot listen on " + to_string(same)), std::string::npos) << why;
}

TEST(Net, WhereNobodyListensIsSaidAtOnce) {
  Net net;
  net.listener.stop();
  const std::string why = refused([&] { net.run(call({"127.0.0.1", 1}, {}, "hello")); });
  EXPECT_NE(why.find("127.0.0.1:1 cannot be reached: Connection refused"), std::string::npos) << why;
}

TEST(Net, ANameWithoutAnAddressIsNamed) {
  Net net;
  const std::string why = refused([&] { net.run(call({"no-such-board.invalid", 9090}, {}, "hello")); });
  EXPECT_NE(why.find("the name no-such-board.invalid has no address"), std::string::npos) << why;
}

awaitable<void> wrong_role(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  co_await greet(connection, Role::kTracker, Role::kBoard);
  read_as<Pong>(co_await connection.receive());
}

TEST(Net, OtherRolesAreRefused) {
  Net net;
  const std::string why = refused([&] { net.run(wrong_role(net.there())); });
  EXPECT_NE(why.find("it is a tracker, and a client was expected"), std::string::npos) << why;
}

awaitable<void> newer(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  Hello hello;
  hello.oldest = hello.newest = kProtocol + 1;
  hello.release = "9.0.0";
  hello.options = {{4711, "of a later release"}};
  co_await connection.send(hello);
  read_as<Hello>(co_await connection.receive());
  read_as<Pong>(co_await connection.receive());
}

TEST(Net, AnotherProtocolIsRefusedByItsNumbers) {
  Net net;
  const std::string why = refused([&] { net.run(newer(net.there())); });
  EXPECT_NE(why.find("it speaks releases 2 to 2 of the protocol (Tensorwright 9.0.0), this side 1 to 1"),
            std::string::npos)
      << why;
}

awaitable<void> says_nothing(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  read_as<Hello>(co_await connection.receive());
  co_await connection.receive();
}

TEST(Net, WhoSaysNothingIsNotWaitedFor) {
  Net net;
  const auto start = std::chrono::steady_clock::now();
  refused([&] { net.run(says_nothing(net.there())); });
  EXPECT_LT(seconds_since(start), 8);
}

// The first of a frame's bytes says how long it is: one that is too long is not waited for.
awaitable<void> bomb(Endpoint to, bool greets, uint32_t bytes) {
  Connection connection = co_await dial(to, {}, 5);
  if (greets)
    co_await greet(connection, Role::kClient, Role::kBoard);
  else
    read_as<Hello>(co_await connection.receive());
  const auto header = encode(FrameHeader{bytes, MessageType::kTask, 0});
  co_await connection.write({header.data(), header.size()});
  co_await connection.receive();
}

TEST(Net, FramesThatAreTooLongEndTheConnectionBeforeMemoryIsTaken) {
  for (const uint32_t bytes : {kMostBeforeHello + 1, uint32_t{1} << 31, UINT32_MAX}) {
    Net net;
    const auto start = std::chrono::steady_clock::now();
    refused([&] { net.run(bomb(net.there(), false, bytes)); });
    EXPECT_LT(seconds_since(start), 2);
  }
  Net net;
  refused([&] { net.run(bomb(net.there(), true, kMostOfControl + 1)); });
}

awaitable<void> says_too_much(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  co_await greet(connection, Role::kClient, Role::kBoard);
  std::string why;
  try {
    co_await connection.send(MessageType::kTask, 3, std::string(kMostOfControl + 1, 'x'));
  } catch (const Error& error) {
    why = error.what();
  }
  EXPECT_NE(why.find("has 65537 bytes, and a message of its type has at most 65536"), std::string::npos) << why;
  co_await connection.send(MessageType::kTask, 3, std::string(kMostOfControl, 'x'));
  const Frame back = co_await connection.receive();
  EXPECT_EQ(back.payload.size(), kMostOfControl);
}

TEST(Net, FramesThatAreTooLongAreNotSent) {
  Net net;
  net.run(says_too_much(net.there()));
}

awaitable<void> among_many(Endpoint to, int many) {
  std::vector<tcp::socket> silent;
  for (int i = 0; i < many; ++i) {
    silent.emplace_back(co_await asio::this_coro::executor);
    co_await silent.back().async_connect({asio::ip::make_address(to.host), to.port}, asio::use_awaitable);
    if (i % 100 == 0) co_await call(to, {}, "in between");
  }
  co_await call(to, {}, "at the end");
}

TEST(Net, ThousandsOfHalfOpenConnectionsKeepNobodyOut) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit more{limit.rlim_max, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &more);
  const int many = static_cast<int>(std::min<rlim_t>(10'000, more.rlim_cur / 2));
  Net net;
  net.run(among_many(net.there(), many));
  EXPECT_LE(net.listener.waiting(), 64u);
  setrlimit(RLIMIT_NOFILE, &limit);
}

awaitable<void> writes_at_once(Endpoint to, std::optional<Secret> secret, std::shared_ptr<int> received) {
  Connection connection = co_await dial(to, secret, 5);
  co_await greet(connection, Role::kClient, Role::kBoard);
  for (uint16_t i = 0; i < 50; ++i)
    asio::co_spawn(
        connection.executor(),
        [](Connection c, uint16_t number) -> awaitable<void> {
          co_await c.send(MessageType::kChunk, number, std::string(10'000, static_cast<char>(number)));
        }(connection, i),
        asio::detached);
  for (; *received < 50; ++*received) {
    const Frame frame = co_await connection.receive();
    EXPECT_EQ(frame.payload, std::string(10'000, static_cast<char>(frame.stream)));
  }
}

TEST(Net, SeveralWritersKeepFramesWhole) {
  for (const auto& secret : {std::optional<Secret>(), std::optional(secret_of(3))}) {
    Net net(secret);
    const auto received = std::make_shared<int>(0);
    net.run(writes_at_once(net.there(), secret, received));
    EXPECT_EQ(*received, 50);
  }
}

awaitable<void> closes_while_it_waits(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  co_await greet(connection, Role::kClient, Role::kBoard);
  const Deadline deadline(connection, 0.05, "the time was over");
  co_await connection.receive();
}

TEST(Net, ADeadlineEndsWhatWaits) {
  Net net;
  const std::string why = refused([&] { net.run(closes_while_it_waits(net.there())); });
  EXPECT_NE(why.find("the time was over"), std::string::npos) << why;
}

awaitable<void> outlives_its_deadline(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  co_await greet(connection, Role::kClient, Role::kBoard);
  {
    const Deadline deadline(connection, 0.02, "the time was over");
  }
  co_await pause(0.05);
  EXPECT_FALSE(connection.closed());
}

TEST(Net, ADeadlineThatWentClosesNothing) {
  Net net;
  net.run(outlives_its_deadline(net.there()));
}

awaitable<void> renews_its_deadline(Endpoint to) {
  Connection connection = co_await dial(to, {}, 5);
  co_await greet(connection, Role::kClient, Role::kBoard);
  Deadline silence(connection, 0.2, "the time was over");
  for (int i = 0; i < 8; ++i) {
    co_await pause(0.05);
    silence.renew();
  }
  EXPECT_FALSE(connection.closed());
  co_await connection.receive();
}

TEST(Net, ADeadlineThatIsRenewedEndsSilence) {
  Net net;
  const auto start = std::chrono::steady_clock::now();
  const std::string why = refused([&] { net.run(renews_its_deadline(net.there())); });
  EXPECT_NE(why.find("the time was over"), std::string::npos) << why;
  EXPECT_GE(seconds_since(start), 0.6);
}

TEST(Endpoints, AreAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("pi4-1:9090", "board"), (Endpoint{"pi4-1", 9090}));
  EXPECT_EQ(parse_endpoint("[::1]:1", "board"), (Endpoint{"::1", 1}));
  EXPECT_EQ(to_string(parse_endpoint("[::1]:1", "board")), "[::1]:1");
  for (const char* text : {"", "pi4-1", "pi4-1:", ":9090", "pi4-1:70000", "pi4-1:-1", "::1:9090", "pi4-1:90x"}) {
    const std::string why = refused([&] { parse_endpoint(text, "a board"); });
    EXPECT_NE(why.find(std::string("a board must be HOST:PORT, not '") + text + "'"), std::string::npos) << why;
  }
}

// ------------------------------------------------------------------------------------------------------------ secrets

TEST(Secrets, AreReadAsTheyWereMade) {
  const support::TemporaryFolder folder("tensorwright");
  const std::string path = folder / "farm.secret";
  const Secret made = new_secret(path);
  EXPECT_EQ(read_secret(path), made);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(new_secret(folder / "other.secret"), made);
}

TEST(Secrets, AreNeverReplaced) {
  const support::TemporaryFolder folder("tensorwright");
  const std::string path = folder / "farm.secret";
  const Secret made = new_secret(path);
  const std::string why = refused([&] { new_secret(path); });
  EXPECT_NE(why.find("is there already"), std::string::npos) << why;
  EXPECT_EQ(read_secret(path), made);
}

TEST(Secrets, ThatOthersMayReadAreRefused) {
  const support::TemporaryFolder folder("tensorwright");
  const std::string path = folder / "farm.secret";
  new_secret(path);
  for (const mode_t mode : {0644, 0640, 0604, 0620}) {
    chmod(path.c_str(), mode);
    const std::string why = refused([&] { read_secret(path); });
    EXPECT_NE(why.find("may be read by others than its owner"), std::string::npos) << why;
  }
}

TEST(Secrets, ThatAreNoneAreRefused) {
  const support::TemporaryFolder folder("tensorwright");
  const std::string path = folder / "farm.secret";
  EXPECT_NE(refused([&] { read_secret(path); }).find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(refused([&] { read_secret("/dev/null"); }).find("is no file"), std::string::npos);
  for (const std::string& text :
       {std::string(), std::string("hunter2\n"), "tensorwright-secret 1 " + std::string(63, 'a') + "\n",
        "tensorwright-secret 1 " + std::string(64, 'g') + "\n"}) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    EXPECT_NE(refused([&] { read_secret(path); }).find("holds no secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tw::rpc
