// A board at a tracker: it dials, registers, says twice a second that it is there, and dials again for each client that
// the tracker brings. Where the tracker is away or restarts, it tries again for ever.
//
// It serves one client at a time; who is brought meanwhile waits. A session lives by its own connection, so it outlives
// that of the registration.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "rpc/net/connection.h"

namespace tw::rpc {

struct BoardHealth {
  uint32_t lost_workers = 0;  // one after the other, up to now
  std::string reason = {};    // why the last was
  double silent_s = 0;        // it measures, and so long nothing should disturb it
};

class Registration {
 public:
  struct Options {
    Endpoint tracker;  // whose host is a number where this program is static
    std::optional<Secret> secret = {};
    std::string key, name, description;
    double give_up_s = 0;  // after so long without the tracker; 0: never
    // A client's session, until it ends. What it throws ends it.
    std::function<asio::awaitable<void>(Connection)> serve;
    std::function<BoardHealth()> health = [] { return BoardHealth{}; };
    std::function<void(const std::string&)> report = [](const std::string&) {};  // what happens, for people
  };
  Registration(asio::any_io_executor, Options);

  // Until stop(), or throws what the last attempt threw when it gives up. It outlives what then is still to be done by
  // who runs the coroutines.
  asio::awaitable<void> run();
  void stop();

 private:
  asio::awaitable<void> stay_registered();
  asio::awaitable<void> beat(Connection);
  asio::awaitable<void> serve_sessions();
  asio::awaitable<void> serve_session(std::string token);
  Heartbeat heartbeat();

  asio::any_io_executor executor_;
  Options options_;
  std::optional<Connection> control_, session_;
  std::deque<std::string> tokens_;  // of clients who wait
  bool in_session_ = false, registered_ = false, stopped_ = false;
  uint32_t earlier_lost_ = 0;  // workers, before it registered
  asio::steady_timer pause_, next_beat_, next_token_;
};

}  // namespace tw::rpc
