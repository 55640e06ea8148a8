// A blob for a board, over a stream of a session or of a runner: in chunks, as many as the board says that it has room
// for.
#pragma once

#include <asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/net/connection.h"

namespace tw::rpc {

// Ends when all is sent: what the board answers to it is not waited for. Whoever awaits it keeps its arguments alive.
template <class Stream>
asio::awaitable<void> put_blob(Stream& stream, Digest digest, std::string_view bytes) {
  const Put announced{digest, bytes.size()};
  co_await stream.send(announced);
  for (uint64_t credit = 0; !bytes.empty(); --credit) {
    while (credit == 0) {
      const Frame frame = co_await stream.receive();
      credit += read_as<Credit>(frame).chunks;
    }
    std::string chunk(bytes.substr(0, kChunkBytes));
    bytes.remove_prefix(chunk.size());
    co_await stream.send(MessageType::kChunk, std::move(chunk));
  }
}

}  // namespace tw::rpc
