#include "rpc/client/tracker_client.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <asio/this_coro.hpp>
#include <chrono>
#include <cmath>
#include <limits>

#include "rpc/net/pause.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAnswerS = 5, kPauseS = 0.3;

std::string who_asks() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const passwd* user = getpwuid(getuid());
  return (user != nullptr ? user->pw_name : std::to_string(getuid())) + std::string("@") + host;
}

uint32_t milliseconds(double seconds) {
  return static_cast<uint32_t>(std::clamp(std::ceil(seconds * 1e3), 0.0, double{std::numeric_limits<uint32_t>::max()}));
}

awaitable<Connection> dial_tracker(TrackerAddress tracker) {
  Connection connection = co_await dial(tracker.at, tracker.secret, tracker.seconds);
  co_await greet(connection, Role::kClient, Role::kTracker, tracker.seconds);
  co_return connection;
}

// What the tracker answers within so many seconds.
template <Message Answer, Message Question>
awaitable<Answer> ask(Connection connection, Question question, double seconds) {
  const Deadline deadline(connection, seconds, "the tracker did not answer");
  co_await connection.send(question);
  const Frame frame = co_await connection.receive();
  co_return read_as<Answer>(frame);
}

}  // namespace

// A tracker that starts again knows nobody who waited.
awaitable<GrantedBoard> request_board(TrackerAddress tracker, WantedBoard board) {
  const auto end = Clock::now() + nanoseconds(board.wait_s);
  for (bool waited = false;;) {
    bool dialled = false;
    try {
      const Connection connection = co_await dial_tracker(tracker);
      waited = dialled = true;
      const double left = std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
      const Request request{
          board.key, board.predicate, board.priority, milliseconds(left), milliseconds(board.session_s), who_asks()};
      const Granted granted = co_await ask<Granted>(connection, request, left + kAnswerS);
      co_return GrantedBoard{granted.board, connection};
    } catch (const ConnectionLost&) {
      if (!waited || Clock::now() >= end) throw;
    } catch (const Error&) {
      if (!waited || dialled || Clock::now() >= end) throw;  // what it answers counts
    }
    asio::steady_timer timer(co_await asio::this_coro::executor);
    co_await pause(timer, kPauseS);
  }
}

awaitable<std::string> query_tracker(TrackerAddress tracker) {
  const Connection connection = co_await dial_tracker(tracker);
  Summary summary = co_await ask<Summary>(connection, Query{}, kAnswerS);
  co_return std::move(summary.json);
}

awaitable<void> release_board(TrackerAddress tracker, std::string name) {
  const Connection connection = co_await dial_tracker(tracker);
  const Release release{name};
  co_await ask<Done>(connection, release, kAnswerS);
}

}  // namespace tw::rpc
