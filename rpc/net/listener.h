// Listens, and hands on each connection whose other side has shaken hands and said HELLO.
//
// Those who have not yet are few at a time: where more come, the one that has waited longest is closed, so that many
// who say nothing keep nobody out, and take no memory.
#pragma once

#include <functional>
#include <map>

#include "rpc/net/connection.h"

namespace tw::rpc {

class Listener {
 public:
  // Port 0: any that is free. Throws Error where the port is taken, or without a secret for other machines.
  Listener(asio::any_io_executor, const Endpoint&, std::optional<Secret>);

  uint16_t port() const;

  // Until stop(). `serve` runs for each at once; what it throws ends that connection alone. The other side says HELLO
  // as one of `expected`.
  using Serve = std::function<asio::awaitable<void>(Connection, Hello)>;
  asio::awaitable<void> run(Role ours, Roles expected, Serve serve);
  void stop();

  size_t waiting() const { return waiting_.size(); }

 private:
  asio::awaitable<Hello> hello_of(Connection, Role ours, Roles expected);
  asio::awaitable<void> welcome(Connection, Role ours, Roles expected, Serve serve);

  asio::ip::tcp::acceptor acceptor_;
  std::optional<Secret> secret_;
  std::map<uint64_t, Connection> waiting_;  // for HELLO, by their arrival
  uint64_t arrivals_ = 0;
};

}  // namespace tw::rpc
