#include "rpc/client/tracker_client.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tw::rpc {

using asio::awaitable;

namespace {

constexpr double kAnswerS = 5;

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

awaitable<GrantedBoard> request_board(TrackerAddress tracker, WantedBoard board) {
  const Connection connection = co_await dial_tracker(tracker);
  const Request request{
      board.key, board.predicate, board.priority, milliseconds(board.wait_s), milliseconds(board.session_s),
      who_asks()};
  const Granted granted = co_await ask<Granted>(connection, request, board.wait_s + kAnswerS);
  co_return GrantedBoard{granted.board, connection};
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
