// tw rpc-key: the secret that the machines of a farm share. tw rpc-tracker: where boards and those who tune on them
// meet.
#include <cstdio>
#include <memory>

#include "rpc/tracker/serve.h"
#include "src/tools/tw_command.h"

namespace tw::tools {

void add_rpc_key(CLI::App& app, Chosen& chosen) {
  CLI::App* group = app.add_subcommand("rpc-key", "Make the secret that the machines of a farm share, or look at one");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* done, rpc::Secret (*run)(const std::string&)) {
    const auto path = std::make_shared<std::string>();
    CLI::App* command = group->add_subcommand(name, what);
    command->add_option("FILE", *path, "the secret file")->required();
    add_json_option(*command, chosen);
    command->callback([path, done, run, &chosen] {
      chosen.run = [path, done, run, &chosen] {
        run(*path);
        if (chosen.json)
          print_json({{"secret", *path}});
        else
          std::printf("%s %s\n", path->c_str(), done);
        return kDone;
      };
    });
  };
  add("new", "make one that nobody has; a file that is there stays as it is",
      "is new: copy it to the machines of the farm, where only its owner may read it", rpc::new_secret);
  add("check", "whether a file is one, and only its owner may read it", "is a secret", rpc::read_secret);
}

void add_rpc_tracker(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::string listen = "127.0.0.1:9190", secret;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("rpc-tracker", "Bring together boards and those who tune on them");
  command->add_option("--listen", options->listen, "HOST:PORT, a number; 0.0.0.0 is every address, port 0 a free one")
      ->capture_default_str();
  command->add_option("--secret", options->secret, "what tw rpc-key new made; without it only this machine is served");
  command->callback([options, &chosen] {
    chosen.run = [options] {
      rpc::Endpoint at = rpc::parse_endpoint(options->listen, "--listen");
      rpc::serve_tracker(at, rpc::secret_in(options->secret), [&](uint16_t port) {
        at.port = port;
        std::printf("listening on %s, %s\n", rpc::to_string(at).c_str(),
                    options->secret.empty() ? "without a secret" : "for who has the secret");
        std::fflush(stdout);
      });
      return kDone;
    };
  });
}

}  // namespace tw::tools
