// What coroutines of one thread wait for together. A wait may end without cause: who waits asks again.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>

namespace tw::rpc {

class Event {
 public:
  explicit Event(const asio::any_io_executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}

  asio::awaitable<void> wait() {
    asio::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  void wake() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

}  // namespace tw::rpc
