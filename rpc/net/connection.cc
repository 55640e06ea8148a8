#include "rpc/net/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "rpc/net/pause.h"
#include "rpc/net/tls.h"
#include "rpc/wire/rpc_error.h"
#include "src/support/release.h"
#include "src/support/within.h"

namespace tw::rpc {

using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using asio::ip::tcp;
using support::within;

namespace {

constexpr double kWholeFrameS = 30;  // from its first byte to its last
constexpr double kPartingS = 1;
// Of a peer that does not answer: the kernel asks it once a second, and gives up after so many milliseconds.
constexpr int kKeepAliveS = 1, kGiveUpMs = 6000;

void set_up(tcp::socket& socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveS);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kGiveUpMs);
  // What is lost is sent again every 0.2 s at first, not at intervals that double: a link that was down for 2 s would
  // not be heard of for 3.
  set(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
}

}  // namespace

struct Connection::State {
  State(tcp::socket from, std::optional<Secret> key)
      : socket(std::move(from)), secret(std::move(key)), turn(socket.get_executor()) {
    turn.expires_at(asio::steady_timer::time_point::max());
  }

  void close(const std::string& why) {
    if (why_closed) return;
    why_closed = why;
    asio::error_code ignored;
    socket.close(ignored);
    turn.cancel();
  }
  // Throws: what was waited for did not come.
  [[noreturn]] void lost(const std::string& why) {
    close(why);
    throw ConnectionLost(
        Diagnostic{ErrorKind::kRpc, "the connection with " + peer + " was lost: " + *why_closed, {}, {}});
  }
  void require(const asio::error_code& code) {
    if (why_closed) lost(*why_closed);
    if (code == asio::error::eof || code == asio::ssl::error::stream_truncated) lost("it was closed there");
    if (code) lost(code.message());
  }

  tcp::socket socket;
  std::shared_ptr<asio::ssl::context> context;
  std::optional<asio::ssl::stream<tcp::socket&>> tls;
  std::optional<Secret> secret;
  std::string peer;
  std::optional<std::string> why_closed;
  bool greeted = false;
  // Those who write take turns.
  asio::steady_timer turn;
  uint64_t next_turn = 0, current_turn = 0;
};

Connection::Connection(tcp::socket socket, std::optional<Secret> secret)
    : state_(std::make_shared<State>(std::move(socket), std::move(secret))) {
  asio::error_code gone;
  const tcp::endpoint other = state_->socket.remote_endpoint(gone);
  state_->peer = gone ? "a machine that is gone" : to_string(Endpoint{other.address().to_string(), other.port()});
  const asio::ip::address address = other.address();
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  const bool loopback =
      mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback() : address.is_loopback();
  if (!state_->secret && !gone && !loopback)
    throw rpc_error(state_->peer + " is another machine, and without a secret only this one is spoken to",
                    {"give both sides the file that tw rpc-key new makes, as --secret or secret="});
  set_up(state_->socket);
}

awaitable<void> Connection::shake_hands(Side side) {
  const std::shared_ptr<State> s = state_;
  if (!s->secret) co_return;
  const bool accepts = side == Side::kAccepts;
  s->context = tls_context(*s->secret, accepts);
  s->tls.emplace(s->socket, *s->context);
  asio::error_code code;
  co_await s->tls->async_handshake(accepts ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
                                   redirect_error(use_awaitable, code));
  if (!s->why_closed && (code || !made_by_secret(s->tls->native_handle()))) {
    s->close("no handshake: " + (code ? code.message() : std::string("not made by the secret")));
    throw ConnectionLost(
        Diagnostic{ErrorKind::kRpc,
                   s->peer + " and this side could not agree on an encrypted connection",
                   {},
                   {code ? code.message() : "it was not made by the secret",
                    "both sides need the same secret file; a side without one speaks only in the clear"}});
  }
  s->require(code);
}

awaitable<size_t> Connection::read_some(std::span<char> into) {
  const std::shared_ptr<State> s = state_;
  asio::error_code code;
  size_t count = 0;
  if (s->why_closed) s->lost(*s->why_closed);
  const asio::mutable_buffer buffer(into.data(), into.size());
  if (s->tls)
    count = co_await s->tls->async_read_some(buffer, redirect_error(use_awaitable, code));
  else
    count = co_await s->socket.async_read_some(buffer, redirect_error(use_awaitable, code));
  if (!s->why_closed && (code == asio::error::eof || code == asio::ssl::error::stream_truncated)) co_return 0;
  s->require(code);
  co_return count;
}

namespace {

awaitable<void> read_all(Connection connection, char* into, size_t bytes) {
  for (size_t have = 0; have < bytes;) {
    const size_t count = co_await connection.read_some({into + have, bytes - have});
    if (count == 0) {
      connection.close("it was closed there");
      throw ConnectionLost(
          Diagnostic{ErrorKind::kRpc, "the connection with " + connection.peer() + " was closed there", {}, {}});
    }
    have += count;
  }
}

}  // namespace

awaitable<Frame> Connection::receive() {
  const Connection self = *this;
  std::array<char, kFrameHeaderBytes> bytes;
  co_await read_all(self, bytes.data(), 1);
  const Deadline whole(self, kWholeFrameS, "a frame did not end " + within(kWholeFrameS));
  co_await read_all(self, bytes.data() + 1, bytes.size() - 1);
  const FrameHeader header = decode_header({bytes.data(), bytes.size()});
  const uint32_t most = most_bytes(header.type, self.state_->greeted);
  if (header.bytes > most)
    self.state_->lost("a frame of " + std::to_string(header.bytes) + " bytes where at most " + std::to_string(most) +
                      " are taken");
  Frame frame{header.type, header.stream, std::string(header.bytes, '\0')};
  co_await read_all(self, frame.payload.data(), frame.payload.size());
  co_return frame;
}

awaitable<void> Connection::write(std::string_view bytes) {
  const std::shared_ptr<State> s = state_;
  const uint64_t mine = s->next_turn++;
  asio::error_code code;
  while (s->current_turn != mine && !s->why_closed) co_await s->turn.async_wait(redirect_error(use_awaitable, code));
  if (s->why_closed) s->lost(*s->why_closed);
  code = {};
  if (s->tls)
    co_await asio::async_write(*s->tls, asio::buffer(bytes), redirect_error(use_awaitable, code));
  else
    co_await asio::async_write(s->socket, asio::buffer(bytes), redirect_error(use_awaitable, code));
  ++s->current_turn;
  s->turn.cancel();
  s->require(code);
}

awaitable<void> Connection::send(MessageType type, uint16_t stream, std::string payload) {
  const Connection self = *this;
  if (const uint32_t most = most_bytes(type, true); payload.size() > most)
    throw rpc_error("what is to be sent to " + peer() + " has " + std::to_string(payload.size()) +
                    " bytes, and a message of its type has at most " + std::to_string(most));
  const auto header = encode(FrameHeader{static_cast<uint32_t>(payload.size()), type, stream});
  const std::string frame = std::string(header.data(), header.size()) + payload;
  co_await Connection(self).write(frame);
}

awaitable<void> Connection::part(std::string why) {
  const Connection self = *this;
  asio::error_code ignored;
  self.state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
  const Deadline deadline(self, kPartingS, why);
  std::array<char, 256> rest;
  try {
    while (co_await Connection(self).read_some(rest) > 0) continue;
  } catch (const ConnectionLost&) {
  }
  Connection(self).close(why);
}

void Connection::greeted() { state_->greeted = true; }
void Connection::close(const std::string& why) { state_->close(why); }
bool Connection::closed() const { return state_->why_closed.has_value(); }
const std::string& Connection::peer() const { return state_->peer; }
asio::any_io_executor Connection::executor() const { return state_->socket.get_executor(); }

// ----------------------------------------------------------------------------------------------------------- deadlines

struct Deadline::Timer {
  asio::steady_timer timer;
  Connection connection;
  double seconds;
  std::string why;
  uint64_t round = 0;  // a timer that has gone off may have its handler waiting when it is cancelled
};

Deadline::Deadline(Connection connection, double seconds, std::string why)
    : timer_(std::make_shared<Timer>(
          Timer{asio::steady_timer(connection.executor()), connection, seconds, std::move(why)})) {
  renew();
}

void Deadline::renew() {
  timer_->timer.expires_after(nanoseconds(timer_->seconds));
  timer_->timer.async_wait([timer = timer_, round = ++timer_->round](asio::error_code code) {
    if (!code && timer->round == round) timer->connection.close(timer->why);
  });
}

Deadline::~Deadline() {
  ++timer_->round;
  timer_->timer.cancel();
}

// ------------------------------------------------------------------------------------------------- dial and greeting

namespace {

// Closes the socket when the time is over.
class SocketDeadline {
 public:
  SocketDeadline(tcp::socket& socket, double seconds) : timer_(socket.get_executor(), nanoseconds(seconds)) {
    timer_.async_wait([&socket, over = over_](asio::error_code code) {
      if (code || *over != kRuns) return;
      *over = kPassed;
      asio::error_code ignored;
      socket.close(ignored);
    });
  }
  ~SocketDeadline() {
    if (*over_ == kRuns) *over_ = kGone;
  }
  bool passed() const { return *over_ == kPassed; }

 private:
  enum State { kRuns, kPassed, kGone };
  asio::steady_timer timer_;
  std::shared_ptr<State> over_ = std::make_shared<State>(kRuns);
};

// The resolver waits for its servers, whoever gives up: it is left to itself then.
awaitable<std::vector<tcp::endpoint>> addresses_of(Endpoint to, double seconds) {
  asio::error_code code;
  const asio::ip::address number = asio::ip::make_address(to.host, code);
  if (!code) co_return std::vector<tcp::endpoint>{{number, to.port}};
  struct Search {
    explicit Search(const asio::any_io_executor& executor) : resolver(executor), over(executor) {}
    tcp::resolver resolver;
    asio::steady_timer over;
    std::optional<std::vector<tcp::endpoint>> found;
    asio::error_code code;
  };
  const auto search = std::make_shared<Search>(co_await asio::this_coro::executor);
  search->resolver.async_resolve(to.host, std::to_string(to.port),
                                 [search](asio::error_code failed, const tcp::resolver::results_type& results) {
                                   search->code = failed;
                                   search->found.emplace();
                                   for (const auto& entry : results) search->found->push_back(entry.endpoint());
                                   search->over.cancel();
                                 });
  co_await pause(search->over, seconds);
  if (!search->found)
    throw rpc_error("no address of the name " + to.host + " was found " + within(seconds),
                    {"the servers of names do not answer: give a number"});
  if (search->code)
    throw rpc_error("the name " + to.host + " has no address: " + search->code.message(),
                    {"give a name that resolves, or a number"});
  co_return *std::move(search->found);
}

}  // namespace

awaitable<Connection> dial(Endpoint to, std::optional<Secret> secret, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::vector<tcp::endpoint> addresses = co_await addresses_of(to, seconds);
  const double passed_s = std::chrono::duration<double>(Clock::now() - start).count();
  tcp::socket socket(co_await asio::this_coro::executor);
  asio::error_code code;
  {
    const SocketDeadline deadline(socket, seconds - passed_s);
    for (const tcp::endpoint& address : addresses) {
      if (deadline.passed()) break;
      asio::error_code ignored;
      socket.close(ignored);
      co_await socket.async_connect(address, redirect_error(use_awaitable, code));
      if (!code) break;
    }
    if (deadline.passed())
      throw rpc_error(to_string(to) + " does not answer " + within(seconds),
                      {"it may be off, or a firewall drops what goes to port " + std::to_string(to.port)});
  }
  if (code)
    throw rpc_error(to_string(to) + " cannot be reached: " + code.message(),
                    {"is it listening on port " + std::to_string(to.port) + "?"});
  Connection connection(std::move(socket), std::move(secret));
  const Deadline shaken(connection, seconds, "no handshake " + within(seconds));
  co_await connection.shake_hands(Side::kDials);
  co_return connection;
}

namespace {

std::string name_of(Role role) {
  constexpr const char* kNames[] = {"a client", "a board", "a tracker"};
  return kNames[static_cast<size_t>(role)];
}

// Why it is not spoken to, or "".
std::string unfit(const Hello& hello, Roles expected) {
  if (hello.newest < kOldestProtocol || hello.oldest > kProtocol)
    return "it speaks releases " + std::to_string(hello.oldest) + " to " + std::to_string(hello.newest) +
           " of the protocol (Tensorwright " + hello.release + "), this side " + std::to_string(kOldestProtocol) +
           " to " + std::to_string(kProtocol);
  if (expected.has(hello.role)) return {};
  std::string names;
  for (const Role role : {Role::kClient, Role::kBoard, Role::kTracker})
    if (expected.has(role)) names += (names.empty() ? "" : " or ") + name_of(role);
  return "it is " + name_of(hello.role) + ", and " + names + " was expected";
}

awaitable<Frame> first_frame(Connection connection) {
  try {
    co_return co_await connection.receive();
  } catch (const ConnectionLost& lost) {
    Diagnostic d = lost.diagnostic();
    d.notes.push_back("it did not say HELLO: the other side may want a secret, or is no Tensorwright");
    throw ConnectionLost(std::move(d));
  }
}

}  // namespace

awaitable<Hello> greet(Connection connection, Role ours, Roles expected, double seconds) {
  const Deadline deadline(connection, seconds, "no HELLO " + within(seconds));
  Hello mine;
  mine.role = ours;
  mine.release = support::kRelease;
  co_await connection.send(mine);
  const Hello theirs = read_as<Hello>(co_await first_frame(connection));
  const std::string why = unfit(theirs, expected);
  if (!why.empty()) {
    const Error error = rpc_error("this side and " + connection.peer() + " cannot work together: " + why);
    co_await connection.send(reply_of(error));
    co_await connection.part(why);
    throw error;
  }
  connection.greeted();
  co_return theirs;
}

void refuse_frame(const Frame& frame) {
  if (frame.type == MessageType::kError)
    if (const auto reply = decode<ErrorReply>(frame.payload)) throw error_of(*reply);
  throw rpc_error("the other side breaks the protocol: a frame of type " +
                  std::to_string(static_cast<int>(frame.type)) + " and " + std::to_string(frame.payload.size()) +
                  " bytes was not expected");
}

}  // namespace tw::rpc
