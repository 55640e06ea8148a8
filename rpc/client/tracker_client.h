// What a client asks of a tracker.
#pragma once

#include <asio/awaitable.hpp>
#include <optional>
#include <string>

#include "rpc/net/connection.h"

namespace tw::rpc {

struct TrackerAddress {
  Endpoint at;
  std::optional<Secret> secret = {};
  double seconds = 5;  // for the connection
};

struct WantedBoard {
  std::string key, predicate = {};  // tracker/predicate.h
  int32_t priority = 0;             // greater: sooner
  double wait_s = 60;               // for a board
  double session_s = 0;             // after which it is taken back; 0: never
};

struct GrantedBoard {
  std::string name;
  Connection connection;  // to the board, as if it had been dialled: both say HELLO next
};

// The lease is the connection: it ends with it. Asks again, within its time, where the tracker goes away while it waits
// for a board. Throws Error: the tracker's, which says what the boards lack or who has
// them, or that the tracker is away.
asio::awaitable<GrantedBoard> request_board(TrackerAddress, WantedBoard);

// tracker/summary.h
asio::awaitable<std::string> query_tracker(TrackerAddress);
// Throws Error where no board of the name is in quarantine.
asio::awaitable<void> release_board(TrackerAddress, std::string name);

}  // namespace tw::rpc
