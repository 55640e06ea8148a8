#include "rpc/tracker/serve.h"

#include <sys/resource.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <csignal>

#include "rpc/tracker/server.h"

namespace tw::rpc {
namespace {

// A session takes two descriptors, and a board one.
void take_all_descriptors() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void serve_tracker(const Endpoint& at, const std::optional<Secret>& secret,
                   const std::function<void(uint16_t)>& listening) {
  take_all_descriptors();
  asio::io_context context{1};
  TrackerServer tracker(context.get_executor(), at, secret);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code, int) {
    tracker.stop();
    context.stop();
  });
  asio::co_spawn(context, tracker.run(), asio::detached);
  listening(tracker.port());
  context.run();
}

}  // namespace tw::rpc
