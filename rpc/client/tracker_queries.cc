#include "rpc/client/tracker_queries.h"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <exception>

#include "rpc/client/tracker_client.h"

namespace tw::rpc {
namespace {

void run(asio::io_context& context, asio::awaitable<void> question) {
  std::exception_ptr thrown;
  asio::co_spawn(context, std::move(question), [&](std::exception_ptr e) { thrown = e; });
  context.run();
  if (thrown) std::rethrow_exception(thrown);
}

asio::awaitable<void> query(TrackerAddress tracker, std::string& summary) { summary = co_await query_tracker(tracker); }

}  // namespace

std::string tracker_summary(const Endpoint& tracker, const std::optional<Secret>& secret) {
  asio::io_context context{1};
  std::string summary;
  run(context, query({tracker, secret}, summary));
  return summary;
}

void release_from_quarantine(const Endpoint& tracker, const std::optional<Secret>& secret, const std::string& board) {
  asio::io_context context{1};
  run(context, release_board({tracker, secret}, board));
}

}  // namespace tw::rpc
