// tw-opt: IR text -> passes -> IR text.
//
//   tw-opt --pass vectorize,unroll --target "llvm -mcpu=x86-64-v3" kernel.ir
//   tw-opt --list
//   tw-opt --rules
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "codegen/backends.h"
#include "src/ir/parse.h"
#include "src/ir/simplify_pattern.h"
#include "src/ir/verify.h"
#include "src/lower/pipeline.h"
#include "src/support/nearest.h"

namespace tw {
namespace {

std::string read_all(const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(file);
  if (!in)
    throw Error(Diagnostic{ErrorKind::kArgument, "tw-opt: a file that can be read expected, not " + file, {}, {}});
  text << in.rdbuf();
  return text.str();
}

const lower::Pass& pass_named(const std::string& name) {
  if (const lower::Pass* found = lower::pass_named(name)) return *found;
  std::vector<std::string> names;
  for (const lower::Passes* passes : {&lower::cpu_passes(), &lower::gpu_passes()})
    for (const lower::Pass& pass : *passes)
      if (std::ranges::find(names, pass.name) == names.end()) names.push_back(pass.name);
  Diagnostic d{ErrorKind::kArgument, "tw-opt: no pass " + name, {}, {}};
  const std::string near = support::did_you_mean(name, names);
  throw Error(std::move(d) << (near.empty() ? "" : near + " ") + "--list shows all");
}

void list_passes() {
  for (const lower::Passes* passes : {&lower::cpu_passes(), &lower::gpu_passes()}) {
    std::printf("%s\n", passes == &lower::cpu_passes() ? "# of a CPU" : "# of programs that hold launches");
    for (const lower::Pass& pass : *passes) std::printf("%-14s %s\n", pass.name, pass.why_here);
  }
}

// A line per rule, for those that prove them: table, name, from, to, when; a tab between two.
void list_rules() {
  const auto print = [](const char* table, const std::vector<ir::Rule>& rules) {
    for (const ir::Rule& r : rules)
      std::printf("%s\t%s\t%s\t%s\t%s\n", table, r.name, ir::to_string(r.from).c_str(), ir::to_string(r.to).c_str(),
                  ir::to_string(r.when).c_str());
  };
  print("index", ir::all_index_rules());
  print("data", ir::all_data_rules());
}

struct Options {
  std::vector<std::string> passes;
  std::string target, file = "-";
  bool list = false, rules = false, verify = false;
};

void run(const Options& options) {
  const Target target = options.target.empty() ? Target::host() : Target::parse(options.target).value_or_throw();
  ir::Program program = ir::parse_program(read_all(options.file)).value_or_throw();
  for (const std::string& name : options.passes) {
    program = name == "all" ? lower::run_pipeline(codegen::backend_of(target).passes, program, target)
                            : pass_named(name).function(program, target);
    if (options.verify) ir::verify(program).value_or_throw();
  }
  std::cout << ir::to_string(program);
}

}  // namespace
}  // namespace tw

int main(int argc, char** argv) {
  tw::Options options;
  CLI::App app("Runs lowering passes on the text of a loop program (src/ir/GRAMMAR.md).");
  app.add_option("--pass", options.passes, "passes in the order in which they run; `all` is the whole pipeline")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--target", options.target, "what to lower for; the host by default");
  app.add_flag("--list", options.list, "list the passes in pipeline order, and why each stands where it stands");
  app.add_flag("--rules", options.rules, "list the simplifier's rules: table, name, from, to, when");
  app.add_flag("--verify", options.verify, "verify the program after each pass");
  app.add_option("FILE", options.file, "the text; - or nothing for standard input");
  CLI11_PARSE(app, argc, argv);
  if (options.list) {
    tw::list_passes();
    return 0;
  }
  if (options.rules) {
    tw::list_rules();
    return 0;
  }
  try {
    tw::run(options);
  } catch (const tw::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
