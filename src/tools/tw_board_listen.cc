// tw-board --listen: a board that clients reach over the network.
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>

#include "rpc/board/description.h"
#include "rpc/board/serve.h"
#include "src/tools/tw_board.h"

namespace tw::tools {
namespace {

// What hostile code could do to others is not left to chance where others can send it.
std::vector<std::string> required_layers(const BoardOptions& options, const rpc::Endpoint& at) {
  std::vector<std::string> required = options.required;
  if (rpc::is_reached_by_others(at) && std::ranges::find(required, "seccomp") == required.end())
    required.emplace_back("seccomp");
  return required;
}

}  // namespace

int listen(const BoardOptions& given) {
  const rpc::Endpoint at = rpc::parse_endpoint(given.listen, "--listen");
  std::optional<rpc::Secret> secret;
  if (!given.secret.empty()) secret = rpc::read_secret(given.secret);
  BoardOptions options = given;
  options.required = required_layers(given, at);
  const rpc::BoardDescription here = rpc::describe_this_board();
  require_layers(here.sandbox, options.required);
  prctl(PR_SET_DUMPABLE, 0);  // workers that could not change their user may not look inside
  const rpc::Board::Options board{
      .description = to_text(here),
      .make_runner = [&] { return std::make_unique<runtime::LocalRunner>(worker_command(options)); },
      .blob_bytes = options.blob_limit << 20};
  rpc::serve_board(at, secret, board, [&](uint16_t port) {
    std::printf("tw-board listens on %s\n", to_string(rpc::Endpoint{at.host, port}).c_str());
    std::fflush(stdout);
  });
  return 0;
}

}  // namespace tw::tools
