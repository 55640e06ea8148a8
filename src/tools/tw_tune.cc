// tw tune: a stock operator by name, tuned from the command line.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "autotune/measure/here.h"
#include "autotune/model/roofline.h"
#include "codegen/calibration.h"
#include "rpc/net/endpoint.h"
#include "schedule/to_python.h"
#include "src/support/json_text.h"
#include "src/tools/tw_command.h"
#include "src/tools/tw_tune_sizes.h"
#include "tensorwright/ops/kernels.h"
#include "tensorwright/rpc_runner.h"

namespace tw::tools {
namespace {

using namespace tw::autotune;

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  std::string name, target, save, pack;
  std::vector<std::string> shape, sizes;
  TuneOptions tuning;
  MachineElsewhere where;
  rpc::RPCRunnerOptions boards;
  std::string tracker;
  bool list = false, quiet = false;
};

Json parameters_json(const te::ops::StockKernel& kernel) {
  Json out = Json::array();
  for (const te::ops::Parameter& p : kernel.parameters)
    out.push_back(
        {{"name", p.name}, {"meaning", p.meaning}, {"default", p.standard.empty() ? Json() : Json(p.standard)}});
  return out;
}

int list(bool json) {
  Json all = Json::array();
  for (const te::ops::StockKernel& kernel : te::ops::kernels()) {
    if (json) {
      all.push_back({{"name", kernel.name}, {"summary", kernel.summary}, {"parameters", parameters_json(kernel)}});
      continue;
    }
    std::printf("%s: %s\n", kernel.name.c_str(), kernel.summary.c_str());
    for (const te::ops::Parameter& p : kernel.parameters)
      std::printf("  %-14s %-10s %s\n", p.name.c_str(), p.standard.empty() ? "needed" : p.standard.c_str(),
                  p.meaning.c_str());
  }
  if (json) print_json(all);
  return kDone;
}

std::map<std::string, int> failures_of(const TuneResult& result) {
  std::map<std::string, int> counts;
  for (const Trial& t : result.failures) ++counts[t.status];
  return counts;
}

void print_result(const Task& task, const TuneResult& result, const Roofline& roofline, const Options& options) {
  const Trial& best = *result.best;
  const double rate = roofline.flops / best.seconds;
  std::printf("%s: best %.4g ms, %.4g GFLOP/s (%.0f %% of %s), %zu trials in %.1f s\n",
              call_text(task.name(), task.args()).c_str(), best.seconds * 1e3, rate / 1e9, 100 * rate / roofline.roof(),
              roofline.bound().c_str(), result.trials.size(), result.elapsed_s);
  for (const auto& [status, count] : failures_of(result)) std::printf("  %d %s\n", count, status.c_str());
  if (result.pruned > 0) std::printf("  %d never built: their bound exceeds the best\n", result.pruned);
  if (!result.note.empty()) std::printf("  %s\n", result.note.c_str());
  std::printf("\n%s", schedule::to_python(task.replay(best).value_or_throw().schedule).c_str());
  if (!options.tuning.log.empty())
    std::printf("\ntw report %s shows more\n", options.tuning.log.c_str());
  else if (options.save.empty())
    std::printf("\nnothing was kept: --log FILE keeps the measurements, --save FILE.so the kernel\n");
}

Json result_json(const Task& task, const TuneResult& result, const Roofline& roofline,
                 const MachineDescription& machine) {
  Json json{{"task", task.name()},
            {"args", support::parse_json<Json>(task.args())},
            {"hash", task.hash()},
            {"target", task.target().to_string()},
            {"threads", machine.threads},
            {"candidates", task.space().size()},
            {"trials", result.trials.size()},
            {"measured", result.measured},
            {"failures", failures_of(result)},
            {"pruned", result.pruned},
            {"alike", result.alike},
            {"elapsed_s", result.elapsed_s},
            {"stopped", result.stopped},
            {"note", result.note},
            {"best", nullptr}};
  if (result.best) {
    const Trial& best = *result.best;
    json["best"] = {{"seconds", best.seconds},
                    {"gflops", roofline.flops / best.seconds / 1e9},
                    {"share", roofline.flops / best.seconds / roofline.roof()},
                    {"of", roofline.bound()},
                    {"knobs", support::read_json<Json>(best.knobs)},
                    {"steps", support::parse_json<Json>(schedule::to_json(best.steps))}};
  }
  return json;
}

void save(const Task& task, const Trial& best, const std::string& path) {
  const Scheduled s = task.replay(best).value_or_throw();
  build(s.schedule, s.args, task.target(), task.name())->save(path);
}

// Before anything is measured.
void check_output(const std::string& path) {
  const std::filesystem::path file(path), folder = file.parent_path();
  static const std::set<std::string> kEnds = {".so", ".o", ".c", ".cu", ".cubin"};
  if (!kEnds.contains(file.extension().string())) fail("tune: --save must be a file .so or .o, not " + path);
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    fail("tune: --save: there is no folder " + folder.string());
}

int make_pack(const Task& task, const Options& options, bool json) {
  const PackSummary made = autotune::pack(task, options.tuning, options.pack, options.where);
  if (json) {
    print_json({{"pack", options.pack},
                {"task", task.name()},
                {"args", support::parse_json<Json>(task.args())},
                {"hash", task.hash()},
                {"target", task.target().to_string()},
                {"threads", made.where.threads},
                {"hardware", made.where.hardware},
                {"candidates", made.candidates},
                {"not_built", made.not_built},
                {"bytes", made.bytes}});
    return kDone;
  }
  const std::string& log = options.tuning.log;
  std::printf("%s: %d candidates of %s for %s, %.0f KB\n", options.pack.c_str(), made.candidates,
              call_text(task.name(), task.args()).c_str(), task.target().to_string().c_str(),
              static_cast<double>(made.bytes) / 1e3);
  if (made.not_built > 0) std::printf("  %d could not be built, which their lines will say\n", made.not_built);
  if (!made.where.hardware.empty()) std::printf("  proposed from the records of %s\n", made.where.hardware.c_str());
  std::error_code ignored;
  if (!log.empty() && !std::filesystem::exists(log, ignored))
    std::printf("  the first ones, as there is no %s yet\n", log.c_str());
  const char *program = task.target().abilities.device ? "tw-measure" : "tw-board measure", *elsewhere = "board.jsonl";
  std::printf("there: %s %s --log %s\n", program, options.pack.c_str(), log.empty() ? elsewhere : log.c_str());
  return kDone;
}

// "" is the boards' own target.
std::unique_ptr<rpc::RPCRunner> runner_of(Options& options) {
  rpc::RPCRunnerOptions& boards = options.boards;
  if (boards.boards.empty() && boards.key.empty() && options.tracker.empty()) return nullptr;
  if (boards.key.empty() != options.tracker.empty())
    fail("tune: --rpc-key and --tracker go together",
         {"tw tune matmul --rpc-key rpi4 --tracker HOST:9190 --secret FILE"});
  if (!options.tracker.empty()) {
    const rpc::Endpoint at = rpc::parse_endpoint(options.tracker, "--tracker");
    boards.host = at.host;
    boards.port = at.port;
  }
  auto runner = std::make_unique<rpc::RPCRunner>(boards);
  if (options.target.empty()) options.target = runner->target();
  return runner;
}

int tune(Options options, bool json) {
  if (options.list) return list(json);
  if (options.name.empty()) fail("tune: an operator is needed", {"tw tune --list shows them"});
  if (options.where.threads < 0) fail("tune: --threads must be positive");
  const std::unique_ptr<rpc::RPCRunner> runner = options.pack.empty() ? runner_of(options) : nullptr;
  const Target target = options.target.empty() ? Target::host() : Target::parse(options.target).value_or_throw();
  if (!options.save.empty()) check_output(options.save);
  if (!options.sizes.empty() && (!options.pack.empty() || !options.save.empty()))
    fail("tune: --sizes goes with neither --pack nor --save", {"tw freeze and tw build make a library of the log"});
  const auto begin = [&] {
    if (options.where.threads > 0) runtime::set_num_threads(options.where.threads);
    if (!options.quiet && !json) options.tuning.on_trial = print_progress;
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
    options.tuning.should_stop = [] { return interrupted != 0; };
  };
  if (!options.sizes.empty()) {
    begin();
    return tune_sizes(options.name, parameters_of("tune", options.shape), options.sizes, target, options.tuning,
                      runner.get(), json);
  }
  const Task task = stock_task(options.name, parameters_of("tune", options.shape), target);
  if (!options.pack.empty()) return make_pack(task, options, json);
  begin();
  const TuneResult result =
      runner ? autotune::tune(task, options.tuning, *runner) : autotune::tune(task, options.tuning);
  const MachineDescription machine =
      runner ? runner->machine() : codegen::with_kept_rates(machine_here(task.target()), task.target());
  Roofline roofline = roofline_of(task, machine);
  if (result.best) roofline.raise_to(roofline.flops / result.best->seconds);
  if (result.best && !options.save.empty()) save(task, *result.best, options.save);
  if (json)
    print_json(result_json(task, result, roofline, machine));
  else if (result.best)
    print_result(task, result, roofline, options);
  if (!result.stopped) return kDone;
  std::fprintf(stderr, "tw: interrupted after %zu trials\n", result.trials.size());
  return kInterrupted;
}

}  // namespace

std::map<std::string, std::string> parameters_of(const std::string& command, const std::vector<std::string>& shape) {
  std::map<std::string, std::string> out;
  for (const std::string& pair : shape) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      fail(command + ": --shape must be NAME=VALUE, joined by commas, not " + pair, {"--shape M=257,N=513,K=1025"});
    if (!out.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      fail(command + ": --shape gives " + pair.substr(0, equals) + " twice");
  }
  return out;
}

void add_tune(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<Options>();
  TuneOptions& tuning = options->tuning;
  CLI::App* command = app.add_subcommand("tune", "Tune a stock operator for its sizes");
  command->add_option("OPERATOR", options->name, "matmul, conv2d, softmax, ...: --list shows all");
  command->add_option("--shape", options->shape, "its parameters: M=257,N=513,K=1025; lists are written 1x1")
      ->delimiter(',');
  command
      ->add_option("--sizes", options->sizes,
                   "of a parameter that varies, the values at which it is tuned: M=1,8,64,512; behind it one for each "
                   "other, N=512")
      ->delimiter(',');
  command->add_option("--trials", tuning.trials, "candidates measured, those of the log included")
      ->capture_default_str();
  command->add_option("--log", tuning.log, "the file that keeps every measurement; tuning again continues it");
  command->add_option("--target", options->target,
                      "what the kernel is for: llvm -mcpu=znver4; this machine by default");
  command->add_option("--threads", options->where.threads, "threads of the kernel; all cores by default");
  command->add_option("--seed", tuning.seed, "the same seed and log give the same decisions")->capture_default_str();
  command->add_option("--search", tuning.search, "evolutionary, random or grid")->capture_default_str();
  command->add_option("--model", tuning.model, "auto, xgb or none")->capture_default_str();
  command->add_option("--early-stop", tuning.early_stop, "stop after so many trials without a better one; 0: never");
  command->add_option("--timeout", tuning.timeout_s, "seconds for one build or one run")->capture_default_str();
  command->add_option("--save", options->save, "write the best kernel: FILE.so or FILE.o, and a C header beside it");
  command->add_option(
      "--pack", options->pack,
      "measure nothing here: write the next candidates to a file that tw-board, or tw-measure on a GPU, "
      "measures elsewhere");
  command->add_option("--hardware", options->where.hardware, "of a pack: which of the log's machines it is for");
  command
      ->add_option("--rpc-boards", options->boards.boards,
                   "measure on these boards, on which tw-board --listen runs: HOST:PORT, joined by commas")
      ->delimiter(',');
  command->add_option("--rpc-key", options->boards.key, "measure on the boards that a tracker has of this key");
  command->add_option("--tracker", options->tracker, "with --rpc-key: where the tracker is, HOST:PORT");
  command->add_option("--secret", options->boards.secret, "the file that boards, tracker and this machine share");
  command->add_option("--priority", options->boards.priority, "with --rpc-key: more gets a board sooner");
  command->add_flag("--list", options->list, "list the operators and their parameters");
  command->add_flag("--quiet", options->quiet, "no progress bar");
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return tune(*options, chosen.json); }; });
}

}  // namespace tw::tools
