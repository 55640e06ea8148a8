// A thread on which the coroutines of connections run, for those who wait for them.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <thread>

namespace tw::rpc {

class Loop {
 public:
  Loop() : thread_([this] { context_.run(); }) {}
  // What still runs is dropped: connections that it held are closed.
  ~Loop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  asio::io_context& context() { return context_; }
  // Until all that runs has ended of itself. Nothing is begun afterwards.
  void drain() {
    keep_running_.reset();
    thread_.join();
  }

  // Not from the thread itself. Throws what it throws.
  template <class T>
  T wait(asio::awaitable<T> work) {
    return asio::co_spawn(context_, std::move(work), asio::use_future).get();
  }

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_ = asio::make_work_guard(context_);
  std::thread thread_;
};

}  // namespace tw::rpc
