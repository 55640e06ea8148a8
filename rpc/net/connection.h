// A connection between two machines, used by coroutines of one thread: frames, or plain bytes for who only carries them
// on.
//
// With a secret it is TLS 1.3 with that as its only key: who does not have it gets no further than the handshake, and
// neither side goes on without encryption. Without one it is not encrypted, and only for this machine's own addresses.
//
// A Connection is a handle: copies share it, and it is closed when the last goes. What waits on one that is closed, by
// whomever, ends with ConnectionLost, which says why. One coroutine reads; any may write, one frame after the other.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rpc/net/endpoint.h"
#include "rpc/net/secret.h"
#include "rpc/wire/messages.h"
#include "tensorwright/error.h"

namespace tw::rpc {

class ConnectionLost : public Error {
 public:
  using Error::Error;
};

enum class Side : uint8_t { kDials, kAccepts };

class Connection {
 public:
  // Of a socket that is connected. Throws Error where there is no secret and the other side is another machine.
  Connection(asio::ip::tcp::socket, std::optional<Secret>);

  // Before anything else; does nothing without a secret.
  asio::awaitable<void> shake_hands(Side);

  asio::awaitable<Frame> receive();
  // Throws Error, and the connection goes on, where it is more than the other side takes.
  asio::awaitable<void> send(MessageType, uint16_t stream, std::string payload);
  template <Message M>
  asio::awaitable<void> send(const M& message, uint16_t stream = 0) {
    return send(M::kType, stream, encode(message));
  }
  // The other side has said HELLO: what frames may hold from now on.
  void greeted();

  // For who carries bytes on between two connections. At least one; none: the other side has ended its part.
  asio::awaitable<size_t> read_some(std::span<char>);
  asio::awaitable<void> write(std::string_view bytes);

  // Closes it once the other side has had a second to read what it was sent last: closed at once, with something of its
  // own on the way, it might never see that.
  asio::awaitable<void> part(std::string why);

  // The first reason counts. From this thread only.
  void close(const std::string& why);
  bool closed() const;

  const std::string& peer() const;  // "127.0.0.1:4711"
  asio::any_io_executor executor() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Closes the connection unless it goes before so many seconds have passed: what waits on it then ends with this reason.
class Deadline {
 public:
  Deadline(Connection, double seconds, std::string why);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  // Something came: they are counted anew.
  void renew();

 private:
  struct Timer;
  std::shared_ptr<Timer> timer_;
};

// A connection to who listens there, hands shaken. Throws Error that names the host, the port and the way out.
asio::awaitable<Connection> dial(Endpoint, std::optional<Secret>, double seconds);

// Several roles at once.
class Roles {
 public:
  constexpr Roles(Role role) : bits_(1u << static_cast<unsigned>(role)) {}
  constexpr Roles operator|(Roles other) const { return Roles(bits_ | other.bits_); }
  constexpr bool has(Role role) const { return (bits_ & Roles(role).bits_) != 0; }

 private:
  explicit constexpr Roles(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};
constexpr Roles operator|(Role a, Role b) { return Roles(a) | Roles(b); }

// Both sides say HELLO. Returns the other's; throws Error, and tells the other side, where it is not of a role that is
// expected or has no release of the protocol in common.
asio::awaitable<Hello> greet(Connection, Role ours, Roles expected, double seconds = 5);

// What a frame should hold. Throws Error: what the other side reports instead, or that it breaks the protocol.
template <Message M>
M read_as(const Frame&);

[[noreturn]] void refuse_frame(const Frame&);
template <Message M>
M read_as(const Frame& frame) {
  if (frame.type == M::kType)
    if (std::optional<M> message = decode<M>(frame.payload)) return *std::move(message);
  refuse_frame(frame);
}

}  // namespace tw::rpc
