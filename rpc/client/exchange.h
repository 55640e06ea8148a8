// What a session asks of its board: one exchange after the other over a connection that is listened to for as long as
// it lasts, as a board may ask whether this side is there while nothing is asked of it. (streams.h has several at
// once.)
//
// For coroutines of one thread. Whoever awaits one of these keeps it alive.
#pragma once

#include <asio/awaitable.hpp>
#include <deque>
#include <exception>
#include <string>

#include "rpc/client/event.h"
#include "rpc/net/connection.h"

namespace tw::rpc {

constexpr double kAnswerS = 60;  // of what is quick there

class Link {
 public:
  explicit Link(Connection);

  // Hands what comes to the exchange under way; ends with the connection.
  asio::awaitable<void> listen();
  void close(const std::string& why);

  // Whatever is under way; what is answered is not waited for.
  template <Message M>
  void tell(const M& message) {
    send_alone(M::kType, encode(message));
  }

 private:
  friend class Exchange;

  uint16_t next_stream();
  void send_alone(MessageType, std::string payload);

  Connection connection_;
  uint16_t last_stream_ = 0;
  uint16_t awaited_ = 0;  // the stream of the exchange under way; 0: there is none
  std::deque<Frame> heard_;
  std::exception_ptr lost_;
  Event more_, room_;
};

// A request and what is answered, on a stream of their own. How long all of it takes is the network's affair: only
// silence ends it, and the connection with it.
class Exchange {
 public:
  explicit Exchange(Link&, double silence_s = kAnswerS);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  template <Message M>
  asio::awaitable<void> send(const M& message) {
    return send(M::kType, encode(message));
  }
  asio::awaitable<void> send(MessageType, std::string payload);
  asio::awaitable<Frame> receive();

 private:
  Link& link_;
  const uint16_t stream_;
  Deadline silence_;
};

template <Message Reply, Message Asked>
asio::awaitable<Reply> asked(Link& board, Asked message, double seconds = kAnswerS) {
  Exchange exchange(board, seconds);
  co_await exchange.send(message);
  const Frame frame = co_await exchange.receive();
  co_return read_as<Reply>(frame);
}

}  // namespace tw::rpc
