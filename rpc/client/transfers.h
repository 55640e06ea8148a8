// The bytes of arrays and of files, between a session and its board: in chunks.
//
// For coroutines of one thread. Whoever awaits one of these keeps its arguments alive.
#pragma once

#include <asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "rpc/client/exchange.h"

namespace tw::rpc {

asio::awaitable<void> read_array(Link&, ReadArray, char* into);
asio::awaitable<void> write_array(Link&, uint64_t array, std::string_view bytes);

asio::awaitable<std::string> download(Link&, std::string name);
// A blob, unless it is there already.
asio::awaitable<void> bring(Link&, std::string_view bytes);

}  // namespace tw::rpc
