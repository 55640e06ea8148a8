// tw build: frozen kernels as a library; or a stock operator, compiled by the best record of a log. Measures nothing.
#include <cstdio>
#include <memory>

#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "src/tools/tw_command.h"
#include "tensorwright/aot.h"

namespace tw::tools {
namespace {

using namespace tw::autotune;

struct Options {
  std::vector<std::string> what;
  std::string target, log, save, kernel, hardware, baseline;
  std::vector<std::string> shape;
  int threads = 0;
  aot::BuildOptions library;
  bool no_archive = false;
  const std::string& operator_name() const { return what.front(); }
};

// What is known of the machine that the kernel is for; nothing, where the log is of one alone.
std::optional<MachineDescription> machine_of(const Options& options) {
  if (options.hardware.empty() && options.threads == 0) return std::nullopt;
  MachineDescription machine;
  machine.name = options.hardware;
  machine.threads = options.threads > 0 ? options.threads : 1 << 20;  // the most that there are
  return machine;
}

int build_library(const Options& options, bool json) {
  aot::BuildOptions library = options.library;
  library.archive = !options.no_archive;
  if (!options.baseline.empty()) library.baseline = aot::target_named(options.baseline).value_or_throw();
  const aot::Built built = aot::build(options.what, library);
  if (json) {
    print_json({{"files", built.files}, {"compiled", built.compiled}, {"unchanged", built.unchanged}});
    return kDone;
  }
  for (const std::string& file : built.files) std::printf("%s\n", file.c_str());
  std::printf("%zu compiled, %zu unchanged\n", built.compiled.size(), built.unchanged.size());
  return kDone;
}

int build(const Options& options, bool json) {
  const bool frozen = options.operator_name().ends_with(".twk");
  if (frozen != options.save.empty() || frozen != options.log.empty() || frozen == options.library.folder.empty())
    fail(frozen ? "build: files .twk take --out, and neither --log nor --save"
                : "build: an operator takes --log and --save, and no --out",
         {"tw build dense.x86-64-v3.twk --out DIR",
          "tw build matmul --shape M=257,N=513,K=1025 --log LOG --save dense.o"});
  if (frozen) return build_library(options, json);
  if (options.what.size() > 1) fail("build: it takes one operator, or files .twk");
  const Target target = options.target.empty() ? Target::host() : Target::parse(options.target).value_or_throw();
  const Task task = stock_task(options.operator_name(), parameters_of("build", options.shape), target);
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
  CLI::App* command = app.add_subcommand(
      "build", "Compile frozen kernels into a library, or a stock operator by the best record of a log");
  command
      ->add_option("WHAT", options->what, "files .twk that tw freeze wrote; or an operator: tw tune --list shows all")
      ->required();
  CLI::Option_group* frozen = command->add_option_group("Of files .twk");
  aot::BuildOptions& library = options->library;
  frozen->add_option("--out", library.folder,
                     "the folder of the header and the libraries; what has not changed is kept there");
  frozen->add_option("--library", library.name, "its name: NAME.h, libNAME.a")->capture_default_str();
  frozen->add_option("--prefix", library.prefix, "of what C sees: acme_ for acme_dense_run");
  frozen->add_option("--baseline", options->baseline,
                     "what every CPU has that it is for; on others calls return an error");
  frozen->add_flag("--shared", library.shared, "libNAME.so too");
  frozen->add_flag("--no-archive", options->no_archive, "no libNAME.a");
  frozen->add_flag("-g", library.debug_lines, "line tables: those of the files .twk");
  frozen->add_option("--externs", library.externs, "C functions that kernels may call, and that the caller links");
  frozen->add_option("--host", library.host, "the triple of what launches kernels, where all are for GPUs");
  CLI::Option_group* stock = command->add_option_group("Of an operator");
  stock->add_option("--shape", options->shape, "its parameters: M=257,N=513,K=1025; lists are written 1x1")
      ->delimiter(',');
  stock->add_option("--log", options->log, "the log");
  stock->add_option("--save", options->save, "FILE.so or FILE.o, and a C header beside it");
  stock->add_option("--target", options->target, "what the kernel is for; this machine by default");
  stock->add_option("--name", options->kernel, "of the kernel; the operator's by default");
  CLI::Option* hardware = stock->add_option("--hardware", options->hardware, "which of the log's machines it is for");
  stock->add_option("--threads", options->threads, "of the kernel there")->needs(hardware);
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return build(*options, chosen.json); }; });
}

}  // namespace tw::tools
