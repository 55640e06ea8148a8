#include "rpc/client/exchange.h"

#include <asio/co_spawn.hpp>
#include <utility>

namespace tw::rpc {

using asio::awaitable;

namespace {

constexpr uint16_t kOfAll = 0;     // the stream of what concerns the whole session
constexpr size_t kMostHeard = 16;  // frames that have not been taken yet

}  // namespace

Link::Link(Connection connection)
    : connection_(std::move(connection)), more_(connection_.executor()), room_(connection_.executor()) {}

awaitable<void> Link::listen() {
  try {
    for (;;) {
      Frame frame = co_await connection_.receive();
      if (frame.type == MessageType::kPing) {
        const Pong pong{read_as<Ping>(frame).number};
        co_await connection_.send(pong, frame.stream);
        continue;
      }
      if (frame.stream == kOfAll && frame.type == MessageType::kError) refuse_frame(frame);
      if (frame.stream == kOfAll || frame.stream != awaited_) continue;  // nobody waits for it any more
      heard_.push_back(std::move(frame));
      more_.wake();
      while (heard_.size() >= kMostHeard) co_await room_.wait();
    }
  } catch (const std::exception& error) {
    lost_ = std::current_exception();
    connection_.close(error.what());
  }
  more_.wake();
}

void Link::close(const std::string& why) {
  connection_.close(why);
  heard_.clear();
  room_.wake();
}

uint16_t Link::next_stream() {
  do ++last_stream_;
  while (last_stream_ == kOfAll || last_stream_ == awaited_);
  return last_stream_;
}

void Link::send_alone(MessageType type, std::string payload) {
  asio::co_spawn(connection_.executor(), connection_.send(type, next_stream(), std::move(payload)),
                 [](const std::exception_ptr&) {});  // where the connection is gone, so is what it was told of
}

Exchange::Exchange(Link& link, double silence_s)
    : link_(link), stream_(link.next_stream()), silence_(link.connection_, silence_s, "no answer in time") {
  link_.awaited_ = stream_;
}

Exchange::~Exchange() {
  link_.awaited_ = kOfAll;
  link_.heard_.clear();
  link_.room_.wake();
}

awaitable<void> Exchange::send(MessageType type, std::string payload) {
  co_await link_.connection_.send(type, stream_, std::move(payload));
  silence_.renew();
}

awaitable<Frame> Exchange::receive() {
  while (link_.heard_.empty()) {
    if (link_.lost_) std::rethrow_exception(link_.lost_);
    co_await link_.more_.wait();
  }
  Frame frame = std::move(link_.heard_.front());
  link_.heard_.pop_front();
  link_.room_.wake();
  silence_.renew();
  co_return frame;
}

}  // namespace tw::rpc
