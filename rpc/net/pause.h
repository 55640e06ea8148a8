// Waiting for so many seconds, in coroutines.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>

namespace tw::rpc {

inline std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

// Until they are over, or somebody cancels the timer.
inline asio::awaitable<void> pause(asio::steady_timer& timer, double seconds) {
  timer.expires_after(nanoseconds(seconds));
  asio::error_code cancelled;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

}  // namespace tw::rpc
