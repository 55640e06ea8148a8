#include "rpc/tracker/registration.h"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <random>

#include "rpc/net/pause.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

constexpr double kBeatS = 0.5, kAnswerS = 5;
constexpr double kSilentS = 1;  // while it times: a word a second disturbs nothing, and one that is gone is soon missed
constexpr double kFirstPauseS = 0.25, kLongestPauseS = 2.5;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

std::string words_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Boards that lost the same tracker do not come back at the same moment.
double scattered(double seconds) {
  static std::minstd_rand random(std::random_device{}());
  return seconds * std::uniform_real_distribution(0.75, 1.25)(random);
}

awaitable<Connection> dial_tracker(Endpoint tracker, std::optional<Secret> secret) {
  Connection connection = co_await dial(tracker, secret, kAnswerS);
  co_await greet(connection, Role::kBoard, Role::kTracker, kAnswerS);
  co_return connection;
}

}  // namespace

Registration::Registration(asio::any_io_executor executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      pause_(executor),
      next_beat_(executor),
      next_token_(executor) {}

void Registration::stop() {
  stopped_ = true;
  for (asio::steady_timer* timer : {&pause_, &next_beat_, &next_token_}) timer->cancel();
  for (std::optional<Connection>* connection : {&control_, &session_})
    if (*connection) (*connection)->close("the board goes");
}

awaitable<void> Registration::run() {
  asio::co_spawn(executor_, serve_sessions(), asio::detached);
  double pause_s = kFirstPauseS;
  std::string said;
  Clock::time_point without_since = Clock::now();
  while (!stopped_) {
    std::exception_ptr thrown;
    try {
      co_await stay_registered();
    } catch (...) {
      thrown = std::current_exception();
    }
    control_.reset();
    if (stopped_) break;
    if (registered_) {
      pause_s = kFirstPauseS;
      without_since = Clock::now();
      said.clear();
    }
    if (options_.give_up_s > 0 && seconds_since(without_since) > options_.give_up_s) {
      stop();
      std::rethrow_exception(thrown);
    }
    if (const std::string why = words_of(thrown); why != said) {
      options_.report(why + "\n    it is tried again" + (options_.give_up_s > 0 ? "" : " until it works"));
      said = why;
    }
    registered_ = false;
    co_await pause(pause_, scattered(pause_s));
    pause_s = std::min(2 * pause_s, kLongestPauseS);
  }
}

awaitable<void> Registration::stay_registered() {
  Connection connection = co_await dial_tracker(options_.tracker, options_.secret);
  if (stopped_) co_return connection.close("the board goes");
  control_ = connection;
  {
    const Deadline deadline(connection, kAnswerS, "the tracker did not answer");
    const Register hello{options_.key, options_.name, options_.description, in_session_};
    co_await connection.send(hello);
    const Frame frame = co_await connection.receive();
    const Registered registered = read_as<Registered>(frame);
    options_.report("registered at " + to_string(options_.tracker) + " as " + registered.name + ", key " +
                    options_.key);
  }
  registered_ = true;
  earlier_lost_ = options_.health().lost_workers;
  asio::co_spawn(executor_, beat(connection), asio::detached);
  for (;;) {
    const Frame frame = co_await connection.receive();
    tokens_.push_back(read_as<Open>(frame).token);
    next_token_.cancel();
  }
}

Heartbeat Registration::heartbeat() {
  const BoardHealth health = options_.health();
  if (health.lost_workers < earlier_lost_) earlier_lost_ = 0;  // one has come back since
  const double silent_s = std::min(health.silent_s, kSilentS);
  return {in_session_, static_cast<uint32_t>(silent_s * 1e3), health.lost_workers - earlier_lost_, health.reason};
}

awaitable<void> Registration::beat(Connection connection) {
  try {
    while (!connection.closed()) {
      const Heartbeat now = heartbeat();
      co_await connection.send(now);
      double silent_s = now.silent_ms / 1e3;
      do {
        co_await pause(next_beat_, kBeatS);
        silent_s -= kBeatS;
      } while (silent_s > 0 && options_.health().silent_s > 0);
    }
  } catch (const ConnectionLost&) {  // whoever receives knows
  }
}

awaitable<void> Registration::serve_sessions() {
  while (!stopped_) {
    if (tokens_.empty()) {
      co_await pause(next_token_, 3600);
      continue;
    }
    const std::string token = std::move(tokens_.front());
    tokens_.pop_front();
    in_session_ = true;
    try {
      co_await serve_session(token);
    } catch (const ConnectionLost&) {  // so sessions end
    } catch (const std::exception& error) {
      options_.report(std::string("a session ended: ") + error.what());
    }
    session_.reset();
    in_session_ = false;
    next_beat_.cancel();  // the tracker is told at once
  }
}

awaitable<void> Registration::serve_session(std::string token) {
  Connection connection = co_await dial_tracker(options_.tracker, options_.secret);
  if (stopped_) co_return connection.close("the board goes");
  session_ = connection;
  const Attach attach{token};
  co_await connection.send(attach);
  std::exception_ptr thrown;
  try {
    co_await options_.serve(connection);
  } catch (...) {
    thrown = std::current_exception();
  }
  connection.close("the session is over");
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tw::rpc
