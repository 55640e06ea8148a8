// tw build: a stock operator, compiled by the best record of a log. Measures nothing.
#include <cstdio>
#include <memory>

#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "src/tools/tw_command.h"

namespace tw::tools {
namespace {

using namespace tw::autotune;

struct Options {
  std::string name, target, log, save, kernel, hardware;
  std::vector<std::string> shape;
  int threads = 0;
};

// What is known of the machine that the kernel is for; nothing, where the log is of one alone.
std::optional<MachineDescription> machine_of(const Options& options) {
  if (options.hardware.empty() && options.threads == 0) return std::nullopt;
  MachineDescription machine;
  machine.name = options.hardware;
  machine.threads = options.threads > 0 ? options.threads : 1 << 20;  // the most that there are
  return machine;
}

int build(const Options& options, bool json) {
  const Target target = options.target.empty() ? Target::host() : Target::parse(options.target).value_or_throw();
  const Task task = stock_task(options.name, parameters_of("build", options.shape), target);
  const std::optional<MachineDescription> machine = machine_of(options);
  const Trial trial = best(task, options.log, machine);
  const Scheduled s = task.replay(trial).value_or_throw();
  const std::string kernel = options.kernel.empty() ? kernel_name(task) : options.kernel;
  tw::build(s.schedule, s.args, target, kernel)->save(options.save);
  if (json)
    print_json({{"saved", options.save},
                {"kernel", kernel},
                {"task", task.name()},
                {"target", target.to_string()},
                {"seconds", trial.seconds}});
  else
    std::printf("%s: %s for %s, %.4g ms when it was measured\n", options.save.c_str(),
                call_text(task.name(), task.args()).c_str(), target.to_string().c_str(), trial.seconds * 1e3);
  return kDone;
}

}  // namespace

void add_build(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("build", "Compile a stock operator by the best record of a log");
  command->add_option("OPERATOR", options->name, "matmul, conv2d, softmax, ...: tw tune --list shows all")->required();
  command->add_option("--shape", options->shape, "its parameters: M=257,N=513,K=1025; lists are written 1x1")
      ->delimiter(',');
  command->add_option("--log", options->log, "the log")->required();
  command->add_option("--save", options->save, "FILE.so or FILE.o, and a C header beside it")->required();
  command->add_option("--target", options->target, "what the kernel is for; this machine by default");
  command->add_option("--name", options->kernel, "of the kernel; the operator's by default");
  command->add_option("--hardware", options->hardware, "which of the log's machines it is for");
  command->add_option("--threads", options->threads, "of the kernel there")->needs("--hardware");
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return build(*options, chosen.json); }; });
}

}  // namespace tw::tools
