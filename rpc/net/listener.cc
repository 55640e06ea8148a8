#include "rpc/net/listener.h"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "rpc/wire/rpc_error.h"

namespace tw::rpc {

using asio::awaitable;
using asio::ip::tcp;

namespace {

constexpr size_t kMostWaiting = 64;
constexpr double kHelloS = 5;
constexpr auto kWithoutDescriptors = std::chrono::milliseconds(100);

}  // namespace

Listener::Listener(asio::any_io_executor executor, const Endpoint& at, std::optional<Secret> secret)
    : acceptor_(executor), secret_(std::move(secret)) {
  asio::error_code code;
  const asio::ip::address address = asio::ip::make_address(at.host == "localhost" ? "127.0.0.1" : at.host, code);
  if (code)
    throw rpc_error("to listen, an address must be a number, not " + at.host,
                    {"0.0.0.0 is all of IPv4, [::] all there are"});
  if (!secret_ && !address.is_loopback())
    throw rpc_error("without a secret only this machine is listened to, not " + to_string(at),
                    {"make one with tw rpc-key new farm.secret and give it as --secret, or listen on 127.0.0.1"});
  const tcp::endpoint endpoint(address, at.port);
  acceptor_.open(endpoint.protocol(), code);
  if (!code) acceptor_.set_option(asio::socket_base::reuse_address(true), code);
  if (!code) acceptor_.bind(endpoint, code);
  if (!code) acceptor_.listen(asio::socket_base::max_listen_connections, code);
  if (code)
    throw rpc_error("cannot listen on " + to_string(at) + ": " + code.message(),
                    {"another port may be free; 0 takes any"});
}

uint16_t Listener::port() const { return acceptor_.local_endpoint().port(); }

void Listener::stop() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  for (auto& [arrival, connection] : std::exchange(waiting_, {})) connection.close("nobody listens any more");
}

awaitable<void> Listener::run(Role ours, Roles expected, Serve serve) {
  asio::steady_timer pause(acceptor_.get_executor());
  while (acceptor_.is_open()) {
    asio::error_code code;
    tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, code));
    if (!acceptor_.is_open()) break;
    if (code) {  // out of descriptors, or who came is gone
      pause.expires_after(kWithoutDescriptors);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, code));
      continue;
    }
    std::optional<Connection> connection;
    try {
      connection.emplace(std::move(socket), secret_);
    } catch (const Error&) {
      continue;  // another machine, and no secret
    }
    asio::co_spawn(acceptor_.get_executor(), welcome(*connection, ours, expected, serve), asio::detached);
  }
}

awaitable<Hello> Listener::hello_of(Connection connection, Role ours, Roles expected) {
  const uint64_t arrival = arrivals_++;
  if (waiting_.size() == kMostWaiting) waiting_.extract(waiting_.begin()).mapped().close("too many came after it");
  waiting_.emplace(arrival, connection);
  struct Leave {
    std::map<uint64_t, Connection>& waiting;
    uint64_t arrival;
    ~Leave() { waiting.erase(arrival); }
  } const leave{waiting_, arrival};
  const Deadline deadline(connection, kHelloS, "no HELLO in time");
  co_await connection.shake_hands(Side::kAccepts);
  co_return co_await greet(connection, ours, expected, kHelloS);
}

awaitable<void> Listener::welcome(Connection connection, Role ours, Roles expected, Serve serve) {
  try {
    Hello hello = co_await hello_of(connection, ours, expected);
    co_await serve(connection, std::move(hello));
  } catch (const std::exception& error) {
    connection.close(error.what());
  }
}

}  // namespace tw::rpc
