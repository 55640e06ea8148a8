// The tracker: boards and clients dial it, and it carries bytes between those that it brings together, so that its port
// is the only one that has to be open.
//
// What it knows is state.h's, in memory alone. After a restart boards register again, and clients ask again.
//
// A board registers and says twice a second that it is there. Who is granted one waits until it has dialled a second
// time, and from GRANTED on the client's connection is a pipe to that one, byte for byte, until either ends. Where the
// tracker ends a lease it says why, as an ERROR between two frames of the board.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "rpc/net/connection.h"
#include "rpc/net/listener.h"
#include "rpc/tracker/state.h"
#include "rpc/wire/frame_boundary.h"

namespace tw::rpc {

class TrackerServer {
 public:
  // Throws Error as Listener does.
  TrackerServer(asio::any_io_executor, const Endpoint&, std::optional<Secret>, TrackerRules = {});

  uint16_t port() const { return listener_.port(); }
  // Until stop(). It outlives what then is still to be done by who runs the coroutines.
  asio::awaitable<void> run();
  void stop();

 private:
  struct Client {
    Connection connection;
    // Of a client that was granted a board which is not connected to it yet.
    std::string token = {}, board_name = {};
    BoardId board = 0;
    double open_until = 0;
    std::optional<Connection> board_end = {};
    FrameBoundary said = {};   // by the board
    bool lease_ended = false;  // by the tracker, which tells the client
  };

  asio::awaitable<void> serve(Connection, Hello);
  asio::awaitable<void> serve_role(Connection, Role);
  asio::awaitable<void> serve_board(Connection, Register);
  asio::awaitable<void> hear(Connection, BoardId);
  asio::awaitable<void> join(Connection, Attach);
  asio::awaitable<void> carry_to_client(Connection board, ClientId);
  asio::awaitable<void> serve_client(Connection, Frame);
  asio::awaitable<void> serve_request(Connection, Request);
  asio::awaitable<void> carry_to_board(Connection, ClientId);
  asio::awaitable<void> tick();

  double now() const;
  // Does what the state has decided.
  void act();
  void carry_out(const Grant&);
  void carry_out(const Refusal&);
  void carry_out(const EndOfLease&);
  void carry_out(const Loss&);
  // An answer that is the last, or that nobody waits for.
  template <Message M>
  void send_later(Connection, M, bool last = false);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TrackerState state_;
  std::map<uint64_t, Connection> guests_;  // all, by their arrival
  uint64_t arrivals_ = 0;
  std::map<BoardId, Connection> boards_;  // those that are not lost
  std::map<ClientId, Client> clients_;
  std::map<std::string, ClientId> tokens_;
  asio::any_io_executor executor_;
  asio::steady_timer timer_;
  Listener listener_;
  bool stopped_ = false;
};

}  // namespace tw::rpc
