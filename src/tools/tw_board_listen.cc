// tw-board --listen and --tracker: a board that clients reach over the network.
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <unistd.h>

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
  if (options.trust_clients) return required;
  if (rpc::is_reached_by_others(at) && std::ranges::find(required, "seccomp") == required.end())
    required.emplace_back("seccomp");
  return required;
}

rpc::Board::Options board_of(BoardOptions options, const rpc::Endpoint& at) {
  const std::optional<rpc::BoardDevice> device = device_of(options);
  if (options.trust_clients && !device)
    throw Error(Diagnostic{ErrorKind::kArgument, "--trust-clients is for a --worker that measures on a GPU", {}, {}});
  options.required = required_layers(options, at);
  if (device && rpc::is_reached_by_others(at) && !options.trust_clients)
    throw Error(Diagnostic{ErrorKind::kArgument,
                           "what runs on a GPU is in no sandbox, and other machines are served",
                           {},
                           {"listen on 127.0.0.1 and let clients come by ssh -L",
                            "--trust-clients where each who has the secret may run programs as this user"}});
  const rpc::BoardDescription here = description_of(device);
  require_layers(here.sandbox, options.required);
  prctl(PR_SET_DUMPABLE, 0);  // workers that could not change their user may not look inside
  return {.description = to_text(here),
          .make_runner = [options, device] { return make_runner(options, device); },
          .make_heat =
              [on_device = device.has_value()](auto sleep) {
                return rpc::Heat(on_device ? rpc::Heat::unknown() : rpc::Heat::this_machine(std::move(sleep)));
              },
          .blob_bytes = options.blob_limit << 20,
          .serves_kernels = kernel_command(options),
          .threads = here.machine.hardware.cores,
          .session_bytes = static_cast<uint64_t>(here.memory_mb / 2) << 20};  // half of the memory
}

void require_number(rpc::Endpoint& at) {
  if (at.host == "localhost") at.host = "127.0.0.1";
  unsigned char bytes[16];
  if (inet_pton(AF_INET, at.host.c_str(), bytes) == 1 || inet_pton(AF_INET6, at.host.c_str(), bytes) == 1) return;
  throw Error(Diagnostic{ErrorKind::kRpc,
                         "--tracker must be a number, not the name " + at.host,
                         {},
                         {"this program is static and resolves no names: getent ahosts " + at.host + " says the number",
                          "what tw board install makes looks it up at each start"}});
}

std::string name_of_this_machine() {
  char name[65] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

int listen(const BoardOptions& options) {
  const rpc::Endpoint at = rpc::parse_endpoint(options.listen, "--listen");
  const std::optional<rpc::Secret> secret = rpc::secret_in(options.secret);
  rpc::serve_board(at, secret, board_of(options, at), [&](uint16_t port) {
    std::printf("tw-board listens on %s\n", to_string(rpc::Endpoint{at.host, port}).c_str());
    std::fflush(stdout);
  });
  return 0;
}

int serve_at_tracker(const BoardOptions& options) {
  rpc::Endpoint at = rpc::parse_endpoint(options.tracker, "--tracker");
  require_number(at);
  const std::optional<rpc::Secret> secret = rpc::secret_in(options.secret);
  const std::string name = options.name.empty() ? name_of_this_machine() : options.name;
  const rpc::AtTracker where{at, options.key, name, options.give_up_s};
  rpc::serve_board(where, secret, board_of(options, at), [](const std::string& what) {
    std::printf("tw-board: %s\n", what.c_str());
    std::fflush(stdout);
  });
  return 0;
}

}  // namespace tw::tools
