#include "rpc/client/streams.h"

#include <algorithm>
#include <asio/co_spawn.hpp>

#include "rpc/wire/rpc_error.h"

namespace tw::rpc {

using asio::awaitable;
using Clock = std::chrono::steady_clock;

namespace {

constexpr uint16_t kOfAll = 0;       // the stream of what concerns the connection
constexpr double kAnswerS = 10;      // between two frames of a board that owes an answer
constexpr double kMostBusyS = 3600;  // that it may announce
constexpr size_t kMostFrames = 256;  // that wait for one exchange

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

struct Streams::Mailbox {
  explicit Mailbox(const asio::any_io_executor& executor) : filled(executor) {}
  std::deque<Frame> frames;
  bool abandoned = false;
  Event filled;
};

struct Streams::Shared {
  explicit Shared(Connection c) : connection(std::move(c)), next_look(connection.executor()) {}

  // Throws the reason for which the connection was closed.
  [[noreturn]] void lost() const {
    throw ConnectionLost(Diagnostic{ErrorKind::kRpc, why.empty() ? "the connection was closed" : why, {}, {}});
  }

  Connection connection;
  std::map<uint16_t, std::shared_ptr<Mailbox>> open;
  uint16_t last = 0;
  bool ended = false;
  std::string why;
  Clock::time_point answers_until = in(kAnswerS), busy_until = {};  // either
  asio::steady_timer next_look;
};

Streams::Streams(Connection connection) : shared_(std::make_shared<Shared>(std::move(connection))) {}

awaitable<void> Streams::read() {
  const std::shared_ptr<Shared> s = shared_;
  try {
    for (;;) {
      Frame frame = co_await s->connection.receive();
      s->answers_until = in(kAnswerS);
      if (frame.type == MessageType::kPing) {
        const Pong pong{read_as<Ping>(frame).number};
        co_await s->connection.send(pong, frame.stream);
        continue;
      }
      if (frame.type == MessageType::kBusy) {
        s->busy_until = in(kAnswerS + std::min(kMostBusyS, read_as<Busy>(frame).milliseconds * 1e-3));
        continue;
      }
      if (frame.type == MessageType::kError && frame.stream == kOfAll) refuse_frame(frame);
      if (frame.type == MessageType::kResult) s->busy_until = {};
      const auto mailbox = s->open.find(frame.stream);
      if (mailbox == s->open.end()) continue;  // nobody waits for it any more
      if (mailbox->second->frames.size() == kMostFrames) throw rpc_error("it says more than it was asked");
      mailbox->second->frames.push_back(std::move(frame));
      mailbox->second->filled.wake();
    }
  } catch (const std::exception& e) {
    s->why = e.what();
    s->connection.close(e.what());
  }
  s->ended = true;
  for (const auto& [number, mailbox] : s->open) mailbox->filled.wake();
  s->next_look.cancel();
}

awaitable<void> Streams::watch() {
  const std::shared_ptr<Shared> s = shared_;
  while (!s->ended) {
    s->next_look.expires_after(std::chrono::milliseconds(250));
    asio::error_code ended;
    co_await s->next_look.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (!s->open.empty() && Clock::now() > std::max(s->answers_until, s->busy_until))
      s->connection.close("it owes an answer and is silent");
  }
}

bool Streams::ended() const { return shared_->ended; }
const std::string& Streams::why_ended() const { return shared_->why; }
void Streams::close(const std::string& why) const { shared_->connection.close(why); }

std::unique_ptr<Streams::Stream> Streams::open() {
  Shared& s = *shared_;
  if (s.open.empty()) s.answers_until = in(kAnswerS);
  do ++s.last;
  while (s.last == kOfAll || s.open.contains(s.last));
  return std::make_unique<Stream>(shared_, s.last);
}

Streams::Stream::Stream(std::shared_ptr<Shared> shared, uint16_t number)
    : shared_(std::move(shared)), number_(number), mailbox_(std::make_shared<Mailbox>(shared_->connection.executor())) {
  shared_->open[number_] = mailbox_;
}

Streams::Stream::~Stream() { shared_->open.erase(number_); }

awaitable<void> Streams::Stream::send(MessageType type, std::string payload) {
  return shared_->connection.send(type, number_, std::move(payload));
}

awaitable<Frame> Streams::Stream::receive() {
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  const std::shared_ptr<Shared> s = shared_;
  while (mailbox->frames.empty()) {
    if (mailbox->abandoned) throw Refused(Diagnostic{ErrorKind::kRpc, "cancelled", {}, {}});
    if (s->ended) s->lost();
    co_await mailbox->filled.wait();
  }
  Frame frame = std::move(mailbox->frames.front());
  mailbox->frames.pop_front();
  if (frame.type == MessageType::kError)
    if (const auto reply = decode<ErrorReply>(frame.payload)) throw Refused(error_of(*reply).diagnostic());
  co_return frame;
}

void Streams::Stream::abandon(std::string cancel) {
  mailbox_->abandoned = true;
  mailbox_->filled.wake();
  asio::co_spawn(shared_->connection.executor(),
                 shared_->connection.send(MessageType::kCancel, number_, std::move(cancel)),
                 [](const std::exception_ptr&) {});  // where the connection is gone there is nothing to cancel
}

}  // namespace tw::rpc
