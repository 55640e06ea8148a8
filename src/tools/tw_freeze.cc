// tw freeze: kernels as files for production builds, and whether those are what sources and logs say today.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "autotune/computation_hash.h"
#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "src/tools/tw_command.h"
#include "tensorwright/aot.h"
#include "tensorwright/ops/kernels.h"

namespace tw::tools {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> sources, shape, targets;
  std::string name, log, hardware, out = ".";
  int threads = 0, measure_loss = 0;
  bool check = false, require_tuned = false, allow_default = false;
};

std::vector<Target> targets_of(const Options& options) {
  if (options.targets.empty())
    fail("freeze: --targets says what the kernels are for", {"--targets x86-64-v2 x86-64-v3 x86-64-v4"});
  std::vector<Target> targets;
  for (const std::string& text : options.targets) targets.push_back(aot::target_named(text).value_or_throw());
  return targets;
}

std::string source_of(const Options& options) {
  std::string source = options.sources.front();
  for (size_t i = 0; i < options.shape.size(); ++i) source += (i == 0 ? " --shape " : ",") + options.shape[i];
  return options.name.empty() ? source : source + " --name " + options.name;
}

// Its tensors, if a parameter of the operator varies, M=any; else none.
std::vector<te::Tensor> of_any_size(const Options& options) {
  te::ops::Made made = te::ops::make(options.sources.front(), parameters_of("freeze", options.shape), SourceLine());
  return made.any.empty() ? std::vector<te::Tensor>() : std::move(made.args);
}

std::vector<aot::Frozen> frozen_of_stock(const Options& options) {
  const std::vector<Target> targets = targets_of(options);
  const std::vector<te::Tensor> any_size = of_any_size(options);
  std::vector<aot::Frozen> all;
  for (const Target& target : targets) {
    aot::FreezeOptions how{.name = options.name,
                           .log = options.log,
                           .hardware = options.hardware,
                           .threads = options.threads,
                           .allow_default = options.allow_default,
                           .source = source_of(options)};
    if (!any_size.empty()) {
      if (how.name.empty()) how.name = options.sources.front();
      all.push_back(aot::freeze_any_size(any_size, target, how));
      continue;
    }
    const autotune::Task task =
        autotune::stock_task(options.sources.front(), parameters_of("freeze", options.shape), target);
    all.push_back(aot::freeze(task, how));
  }
  return all;
}

// The computation that it declares today.
std::string hash_of_stock(const Options& options, const Target& target) {
  const std::vector<te::Tensor> args = of_any_size(options);
  if (args.empty())
    return autotune::stock_task(options.sources.front(), parameters_of("freeze", options.shape), target).hash();
  return autotune::computation_hash(autotune::outputs_among(args), args);
}

// Whoever runs this program has the package beside it. Without parameters the source is a file.
int by_python(const Options& options, const std::map<std::string, std::string>& parameters, bool json) {
  std::error_code failed;
  const fs::path packages = fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
  const char* known = std::getenv("PYTHONPATH");
  setenv("PYTHONPATH", (packages.string() + (known ? std::string(":") + known : "")).c_str(), 1);
  const std::string source = parameters.empty() ? options.sources.front() : source_of(options);
  const Json asked = {{"source", source},
                      {"operator", parameters.empty() ? "" : options.sources.front()},
                      {"parameters", parameters},
                      {"name", options.name},
                      {"targets", options.targets},
                      {"log", options.log},
                      {"hardware", options.hardware},
                      {"threads", options.threads},
                      {"out", options.out},
                      {"check", options.check},
                      {"require_tuned", options.require_tuned},
                      {"allow_default", options.allow_default},
                      {"measure_loss", options.measure_loss},
                      {"json", json}};
  const char* set = std::getenv("TW_PYTHON");
  const std::string python = set ? set : "python3", text = asked.dump();
  execlp(python.c_str(), python.c_str(), "-m", "tensorwright._freeze", text.c_str(), nullptr);
  fail("freeze: " + source + " is for Python, and there is no " + python, {"TW_PYTHON names the program"});
}

int print(const std::vector<std::string>& paths, bool json) {
  if (json) print_json({{"written", paths}});
  for (const std::string& path : paths)
    if (!json) std::printf("%s\n", path.c_str());
  return kDone;
}

// Each on a line of stderr.
int print_stale(const std::vector<std::string>& messages, size_t checked, bool json) {
  if (json) {
    print_json({{"checked", checked}, {"stale", messages}});
  } else {
    for (const std::string& message : messages) std::fprintf(stderr, "tw: %s\n", message.c_str());
    if (messages.empty())
      std::printf("%zu frozen %s up to date\n", checked, checked == 1 ? "kernel is" : "kernels are");
  }
  return messages.empty() ? kDone : kFailed;
}

int check(const Options& options, bool json) {
  std::vector<std::string> messages;
  size_t checked = 0;
  const auto add = [&](std::optional<std::string> message) {
    if (message) messages.push_back(*std::move(message));
  };
  if (options.sources.front().ends_with(".twk")) {
    for (const std::string& path : options.sources)
      add(aot::stale(aot::read(path), options.log, options.require_tuned));
    return print_stale(messages, options.sources.size(), json);
  }
  for (const Target& target : targets_of(options)) {
    aot::Frozen wanted;
    wanted.name = options.name.empty() ? options.sources.front() : options.name;
    wanted.target = target;
    const aot::Frozen there = aot::read((fs::path(options.out) / aot::file_name(wanted)).string());
    std::optional<std::string> message = aot::stale_source(there, hash_of_stock(options, target));
    add(message ? std::move(message) : aot::stale(there, options.log, options.require_tuned));
    ++checked;
  }
  return print_stale(messages, checked, json);
}

int freeze(const Options& options, bool json) {
  const std::string& source = options.sources.front();
  const bool frozen = source.ends_with(".twk");
  if (frozen && !options.check)
    fail("freeze: " + source + " is frozen already", {"--check --log LOG asks whether the log has a better record"});
  if (options.sources.size() > 1 && !frozen)
    fail("freeze: it takes one source: a file of Python, or an operator's name and --shape");
  if (source.ends_with(".py")) return by_python(options, {}, json);
  if (options.check) return check(options, json);
  if (options.measure_loss > 0) {
    if (of_any_size(options).empty())
      fail("freeze: --measure-loss is of kernels whose size varies, and nothing of this one does",
           {"--shape M=any,N=512,K=512"});
    return by_python(options, parameters_of("freeze", options.shape), json);
  }
  return print(aot::write(frozen_of_stock(options), options.out), json);
}

}  // namespace

void add_freeze(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("freeze", "Write kernels by their best records to files that tw build compiles");
  command
      ->add_option("SOURCE", options->sources,
                   "a file of Python that declares `kernels`, or an operator: matmul, softmax, ...; with --check also "
                   "files .twk")
      ->required();
  command->add_option("--shape", options->shape, "an operator's parameters: M=257,N=513,K=1025")->delimiter(',');
  command->add_option("--name", options->name, "of an operator's kernel; the operator's by default");
  command->add_option("--targets", options->targets,
                      "what for: x86-64-v3, neoverse-n1, sm_80, or a target's whole text");
  command->add_option("--log", options->log, "the log; without one default schedules are frozen");
  command->add_option("--hardware", options->hardware, "which of the log's machines the kernels are for");
  command->add_option("--threads", options->threads, "of a kernel there; by default the most that were measured");
  command->add_option("--out", options->out, "the folder of the files .twk")->capture_default_str();
  command->add_flag(
      "--check", options->check,
      "write nothing: exit code 1, and a line for each file that the source or the log no longer agree with");
  command->add_flag("--require-tuned", options->require_tuned, "with --check: each must be frozen by a record");
  command->add_flag("--allow-default", options->allow_default, "the default schedule where the log has no record");
  command
      ->add_option(
          "--measure-loss", options->measure_loss,
          "TRIALS: time kernels that were tuned at several sizes against schedules tuned, with so many trials, "
          "for each of 16 sizes and the ends of the ranges")
      ->check(CLI::PositiveNumber);
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return freeze(*options, chosen.json); }; });
}

}  // namespace tw::tools
