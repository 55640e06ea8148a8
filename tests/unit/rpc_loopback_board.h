// A board that listens on this machine, on a thread of its own.
#pragma once

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "rpc/board/board.h"
#include "rpc/net/listener.h"

namespace tw::rpc::test {

class LoopbackBoard {
 public:
  explicit LoopbackBoard(Board::Options options)
      : board_(context_.get_executor(), std::move(options)),
        listener_(context_.get_executor(), {"127.0.0.1", 0}, std::nullopt),
        thread_([this] {
          const auto serve = [this](Connection connection, const Hello&) {
            return board_.serve(std::move(connection));
          };
          asio::co_spawn(context_, listener_.run(Role::kBoard, Role::kClient, serve), asio::detached);
          context_.run();
        }) {}
  ~LoopbackBoard() {
    context_.stop();
    thread_.join();
  }
  uint16_t port() const { return listener_.port(); }

  // What its thread finds.
  template <class F>
  auto ask(F f) {
    std::promise<decltype(f(board_))> answer;
    asio::post(context_, [&] { answer.set_value(f(std::as_const(board_))); });
    return answer.get_future().get();
  }
  // Whether that becomes true within 10 s.
  bool becomes(const std::function<bool(const Board&)>& wanted) {
    for (int i = 0; i < 1000; ++i) {
      if (ask(wanted)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  asio::io_context context_;
  Board board_;
  Listener listener_;
  std::thread thread_;
};

}  // namespace tw::rpc::test
