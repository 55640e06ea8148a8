// tw-board: measures on a machine that has nothing of ours but this program. Linked statically; it compiles nothing.
//
//   tw-board describe                        what this machine is, and the target= for it
//   tw-board measure p.twpack --log l.jsonl  runs, checks and times the candidates of a pack
//   tw-board --listen HOST:PORT              does so for clients that reach it over the network
//   tw-board --tracker HOST:PORT --key KEY   or whom a tracker brings
#include "src/tools/tw_board.h"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "rpc/board/description.h"
#include "src/runtime/confinement.h"
#include "src/runtime/host_device.h"
#include "src/runtime/kernel_service.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/run_worker.h"
#include "src/support/json_text.h"
#include "src/support/release.h"
#include "src/support/subprocess.h"
#include "src/tools/measure_pack.h"
#include "src/tools/run_command.h"

namespace tw::tools {
namespace {

constexpr const char* kServe = "--serve";
constexpr const char* kServeKernel = "--serve-kernel";
constexpr const char* kThisProgram = "/proc/self/exe";

// argv: the layers that are required.
int worker(int argc, char** argv) {
  const auto this_cpu = [](const runtime::RunRequest& request) {
    return std::make_unique<runtime::HostDevice>(request.threads, runtime::without_dynamic_linker());
  };
  return runtime::run_worker(support::kChannel, this_cpu,
                             {.confined = true, .required = std::vector<std::string>(argv, argv + argc)});
}

int describe(const BoardOptions& options) {
  const rpc::BoardDescription here = description_of(device_of(options));
  if (options.json) {
    print_json(support::parse_json<Json>(to_text(here)));
    return kDone;
  }
  std::printf("hardware  %s\n", here.machine.hardware_name().c_str());
  std::printf("cores     %d\n", here.machine.hardware.cores);
  std::printf("target    target=\"%s\"\n", here.target.c_str());
  for (const runtime::Layer& layer : here.sandbox)
    std::printf("sandbox   %s: %s\n", layer.name.c_str(), layer.holds() ? "holds" : layer.why_not.c_str());
  return kDone;
}

int measure(const BoardOptions& options) {
  const rpc::Pack pack = rpc::read_pack(options.pack);
  const std::optional<rpc::BoardDevice> device = device_of(options);
  require_layers(device ? description_of(device).sandbox : runtime::probe_confinement(), options.required);
  prctl(PR_SET_DUMPABLE, 0);  // workers that could not change their user may not look inside
  const std::unique_ptr<runtime::Runner> runner = make_runner(options, device);
  return measure_pack(pack, *runner, {options.pack, options.log, options.json, options.quiet});
}

int run(const BoardOptions& options, const std::function<int(const BoardOptions&)>& chosen) {
  return run_command("tw-board", options.json, [&] { return chosen(options); });
}

void add_worker(CLI::App& command, BoardOptions& options) {
  command.add_option("--worker", options.worker,
                     "another program that serves the runs; tw-measure: on this machine's GPU");
}

void add_worker_options(CLI::App& command, BoardOptions& options) {
  command
      .add_option("--require", options.required,
                  "layers of the sandbox without which nothing runs, joined by commas: tw-board describe lists them")
      ->delimiter(',');
  add_worker(command, options);
}

CLI::App* add_measure(CLI::App& app, BoardOptions& options) {
  CLI::App* measuring = app.add_subcommand("measure", "Run, check and time the candidates of a pack");
  measuring->add_option("PACK", options.pack, "what tw tune --pack wrote")->required();
  measuring->add_option("--log", options.log, "the log that lines are appended to; what it holds is not run again")
      ->required();
  add_worker_options(*measuring, options);
  measuring->add_flag("--quiet", options.quiet, "no progress");
  return measuring;
}

void add_listen(CLI::App& app, BoardOptions& options) {
  app.add_option("--listen", options.listen, "HOST:PORT on which clients are served; port 0 takes any");
  CLI::Option* tracker =
      app.add_option("--tracker", options.tracker, "HOST:PORT of the tracker that brings clients; HOST is a number");
  CLI::Option* key = app.add_option("--key", options.key, "the class of devices under which it registers there");
  key->needs(tracker);
  tracker->needs(key);
  app.add_option("--name", options.name, "its name there; this machine's by default")->needs(tracker);
  app.add_option("--give-up", options.give_up_s, "end after so many seconds without the tracker; 0: never")
      ->needs(tracker);
  app.add_option("--secret", options.secret, "the file that clients have too; without it only this machine is served");
  app.add_option("--blob-limit", options.blob_limit, "megabytes of what clients send that are kept")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_worker_options(app, options);
  app.add_flag("--trust-clients", options.trust_clients,
               "also where other machines are served, what runs on a GPU is in no sandbox");
}

int main(int argc, char** argv) {
  if (argc >= 2 && std::strcmp(argv[1], kServe) == 0) return worker(argc - 2, argv + 2);
  if (argc >= 2 && std::strcmp(argv[1], kServeKernel) == 0)
    return runtime::serve_kernel(support::kChannel, runtime::without_dynamic_linker(), {argv + 2, argv + argc});
  std::signal(SIGXFSZ, SIG_IGN);  // what is too large for the user's limit is an error like a full disk
  CLI::App app("Measures tuning candidates on this machine, for a tuner on another.", "tw-board");
  app.set_version_flag("--version", std::string("tw-board ") + support::kRelease);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted: again goes on.");
  BoardOptions options;
  options.worker = kThisProgram;
  add_listen(app, options);
  CLI::App* measuring = add_measure(app, options);
  CLI::App* describing = app.add_subcommand("describe", "Say what this machine is, and the target= for it");
  add_worker(*describing, options);
  for (CLI::App* command : {measuring, describing})
    command->add_flag("--json", options.json, "print one JSON object instead of text");
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().size() + !options.listen.empty() + !options.tracker.empty() != 1)
      throw CLI::ValidationError("give --listen HOST:PORT, --tracker HOST:PORT, or one of measure and describe");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (measuring->parsed()) return run(options, measure);
  if (describing->parsed()) return run(options, describe);
  return run(options, options.listen.empty() ? serve_at_tracker : listen);
}

runtime::WorkerCommand confined(const std::string& program, const char* mode, const BoardOptions& options) {
  runtime::WorkerCommand command{program, {mode}, true};
  command.args.insert(command.args.end(), options.required.begin(), options.required.end());
  return command;
}

}  // namespace

runtime::WorkerCommand worker_command(const BoardOptions& options) { return confined(options.worker, kServe, options); }
std::optional<rpc::BoardDevice> device_of(const BoardOptions& options) {
  return options.worker == kThisProgram ? std::nullopt : rpc::device_of(options.worker);
}

rpc::BoardDescription description_of(const std::optional<rpc::BoardDevice>& device) {
  rpc::BoardDescription here = rpc::describe_this_board();
  return device ? rpc::with_device(std::move(here), *device) : here;
}

std::unique_ptr<runtime::Runner> make_runner(const BoardOptions& options,
                                             const std::optional<rpc::BoardDevice>& device) {
  if (device) return rpc::runner_on(*device, options.worker);
  return std::make_unique<runtime::LocalRunner>(worker_command(options));
}

runtime::WorkerCommand kernel_command(const BoardOptions& options) {
  return confined(kThisProgram, kServeKernel, options);
}

void require_layers(const std::vector<runtime::Layer>& layers, const std::vector<std::string>& required) {
  const std::string why = runtime::lacking(layers, required);
  if (!why.empty()) throw Error(Diagnostic{ErrorKind::kTune, "the sandbox lacks what is required: " + why, {}, {}});
}

}  // namespace tw::tools

int main(int argc, char** argv) { return tw::tools::main(argc, argv); }
