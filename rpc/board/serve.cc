#include "rpc/board/serve.h"

#include <sched.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <csignal>
#include <exception>

#include "rpc/net/listener.h"
#include "rpc/tracker/registration.h"
#include "src/runtime/thread_pool.h"
#include "src/support/subprocess.h"

namespace tw::rpc {
namespace {

// This thread, and what it starts from now on, keeps off the core on which kernels are timed; the board's own threads,
// which are there by now, and workers, whoever asks for them, do not.
void leave_the_first_core() {
  support::begin_starting_processes();
  const std::vector<int>& cores = runtime::cores_to_measure_on();
  if (cores.size() < 2) return;
  cpu_set_t others;
  CPU_ZERO(&others);
  for (size_t i = 1; i < cores.size(); ++i) CPU_SET(cores[i], &others);
  sched_setaffinity(0, sizeof(others), &others);
}

}  // namespace

bool is_reached_by_others(const Endpoint& at) {
  asio::error_code not_a_number;
  const asio::ip::address address = asio::ip::make_address(at.host, not_a_number);
  return not_a_number ? at.host != "localhost" : !address.is_loopback();
}

void serve_board(const Endpoint& at, const std::optional<Secret>& secret, const Board::Options& options,
                 const std::function<void(uint16_t)>& listening) {
  asio::io_context context{1};
  Listener listener(context.get_executor(), at, secret);
  Board board(context.get_executor(), options);
  leave_the_first_core();
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code, int) { context.stop(); });
  const auto serve = [&](Connection connection, const Hello&) { return board.serve(std::move(connection)); };
  asio::co_spawn(context, listener.run(Role::kBoard, Role::kClient, serve), asio::detached);
  listening(listener.port());
  context.run();
}

void serve_board(const AtTracker& at, const std::optional<Secret>& secret, const Board::Options& options,
                 const std::function<void(const std::string&)>& report) {
  asio::io_context context{1};
  Board board(context.get_executor(), options);
  const auto session = [&](Connection connection) -> asio::awaitable<void> {
    co_await greet(connection, Role::kBoard, Role::kClient);
    co_await board.serve(connection);
  };
  const auto health = [&] {
    const JobQueue::Lost lost = board.lost_workers();
    return BoardHealth{lost.in_a_row, lost.reason, board.busy_s()};
  };
  Registration registration(context.get_executor(), {.tracker = at.tracker,
                                                     .secret = secret,
                                                     .key = at.key,
                                                     .name = at.name,
                                                     .description = options.description,
                                                     .give_up_s = at.give_up_s,
                                                     .serve = session,
                                                     .health = health,
                                                     .report = report});
  leave_the_first_core();
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code, int) { context.stop(); });
  std::exception_ptr gave_up;
  asio::co_spawn(context, registration.run(), [&](std::exception_ptr thrown) {
    gave_up = thrown;
    context.stop();
  });
  context.run();
  if (gave_up) std::rethrow_exception(gave_up);
}

}  // namespace tw::rpc
