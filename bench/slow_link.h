// A relay in front of a board: counts what goes through it, and holds all of it back for a while.
#pragma once

#include <array>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>

namespace tw::bench {

class SlowLink {
  using Socket = asio::ip::tcp::socket;
  using Clock = std::chrono::steady_clock;

 public:
  SlowLink(uint16_t board, std::chrono::milliseconds delay)
      : board_(board), delay_(delay), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~SlowLink() {
    context_.stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  std::atomic<uint64_t> bytes = 0;  // both ways

 private:
  struct Pipe {
    explicit Pipe(asio::io_context& context) : timer(context) {}
    std::deque<std::pair<Clock::time_point, std::string>> held;
    asio::steady_timer timer;
    bool ended = false;
  };

  asio::awaitable<void> accept() {
    for (;;) {
      const auto client = std::make_shared<Socket>(co_await acceptor_.async_accept(asio::use_awaitable));
      const auto server = std::make_shared<Socket>(context_);
      const asio::ip::tcp::endpoint at(asio::ip::address_v4::loopback(), board_);
      co_await server->async_connect(at, asio::use_awaitable);
      for (const auto& socket : {client, server}) socket->set_option(asio::ip::tcp::no_delay(true));
      for (const auto& [from, to] : {std::pair(client, server), std::pair(server, client)}) {
        const auto pipe = std::make_shared<Pipe>(context_);
        asio::co_spawn(context_, take(from, pipe), [pipe](const std::exception_ptr&) {
          pipe->ended = true;
          pipe->timer.cancel();
        });
        asio::co_spawn(context_, give(to, pipe), [from, to](const std::exception_ptr&) {
          from->close();
          to->close();
        });
      }
    }
  }

  asio::awaitable<void> take(std::shared_ptr<Socket> from, std::shared_ptr<Pipe> pipe) {
    std::array<char, 65536> buffer;
    for (;;) {
      const size_t count = co_await from->async_read_some(asio::buffer(buffer), asio::use_awaitable);
      bytes += count;
      pipe->held.emplace_back(Clock::now() + delay_, std::string(buffer.data(), count));
      pipe->timer.cancel();
    }
  }

  asio::awaitable<void> give(std::shared_ptr<Socket> to, std::shared_ptr<Pipe> pipe) {
    for (;;) {
      asio::error_code woken;
      pipe->timer.expires_at(pipe->held.empty() ? Clock::time_point::max() : pipe->held.front().first);
      const bool due = !pipe->held.empty() && pipe->held.front().first <= Clock::now();
      if (pipe->held.empty() && pipe->ended) co_return;
      if (!due) {
        co_await pipe->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        continue;
      }
      const std::string part = std::move(pipe->held.front().second);
      pipe->held.pop_front();
      co_await asio::async_write(*to, asio::buffer(part), asio::use_awaitable);
    }
  }

  const uint16_t board_;
  const std::chrono::milliseconds delay_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace tw::bench
