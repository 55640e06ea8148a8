// Several exchanges with a board over one connection, each on a stream of its own, and a watch over its silence: a
// board that owes an answer says something every few seconds, or has said for how long it will not (BUSY).
//
// For one thread, as connections are. Streams may outlive it: theirs is the connection, and what they wait for ends
// with it.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>

#include "rpc/client/event.h"
#include "rpc/net/connection.h"

namespace tw::rpc {

// What the board says in the place of an answer. The connection goes on.
class Refused : public Error {
 public:
  using Error::Error;
};

class Streams {
  struct Shared;
  struct Mailbox;

 public:
  explicit Streams(Connection);

  // Hand on what comes, and close the connection over too long a silence. Both end with the connection.
  asio::awaitable<void> read();
  asio::awaitable<void> watch();
  void close(const std::string& why) const;
  bool ended() const;
  const std::string& why_ended() const;

  class Stream {
   public:
    Stream(std::shared_ptr<Shared>, uint16_t number);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    template <Message M>
    asio::awaitable<void> send(const M& message) {
      return send(M::kType, encode(message));
    }
    asio::awaitable<void> send(MessageType, std::string payload);
    // Throws Refused, and ConnectionLost when the connection has ended.
    asio::awaitable<Frame> receive();
    // Ends what waits for an answer, which is Refused, and tells the board, without waiting for that.
    void abandon(std::string cancel);

   private:
    const std::shared_ptr<Shared> shared_;
    const uint16_t number_;
    const std::shared_ptr<Mailbox> mailbox_;
  };
  std::unique_ptr<Stream> open();

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace tw::rpc
