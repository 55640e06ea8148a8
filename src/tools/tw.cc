// tw: tuning, its logs and their reports on the command line. No Python runs in it.
//
//   tw tune matmul --shape M=257,N=513,K=1025 --trials 64 --log x.jsonl
//   tw build matmul --shape M=257,N=513,K=1025 --log x.jsonl --save dense.o
//   tw freeze matmul --shape M=257,N=513,K=1025 --log x.jsonl --targets x86-64-v3 --out kernels
//   tw build kernels/*.twk --out build/kernels --prefix acme_
//   tw log best x.jsonl
//   tw report x.jsonl -o report.html
//   tw doctor
//   tw rpc-tracker --listen 0.0.0.0:9190 --secret farm.secret
//   tw board install pi@pi4-1 --tracker HOST:9190 --key rpi4 --secret farm.secret
#include <csignal>
#include <cstdio>
#include <iostream>

#include "src/support/nearest.h"
#include "src/support/release.h"
#include "src/tools/tw_command.h"

namespace tw::tools {

void add_json_option(CLI::App& command, Chosen& chosen) {
  command.add_flag("--json", chosen.json, "print one JSON object instead of text");
}

void fail(std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{ErrorKind::kArgument, std::move(what), {}, std::move(notes)});
}

namespace {

// The innermost group of commands that was chosen.
const CLI::App& chosen_group(const CLI::App& app) {
  const CLI::App* group = &app;
  for (auto chosen = group->get_subcommands(); !chosen.empty(); chosen = group->get_subcommands())
    group = chosen.front();
  return *group;
}

// Where a command of the group must follow, and another word does, or none.
Error no_command(const CLI::App& group) {
  std::string name = group.get_name(), commands;
  for (const CLI::App* around = group.get_parent(); around; around = around->get_parent())
    name = around->get_name() + " " + name;
  std::vector<std::string> known;
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
    commands += (commands.empty() ? "" : ", ") + known.back();
  }
  const std::vector<std::string> words = group.remaining();
  if (words.empty())
    return Error(Diagnostic{ErrorKind::kArgument, name + ": a command must follow: " + commands, {}, {}});
  std::vector<std::string> notes = {"the commands: " + commands};
  if (const std::string near = support::did_you_mean(words[0], known); !near.empty()) notes.insert(notes.begin(), near);
  return Error(Diagnostic{ErrorKind::kArgument, name + ": unknown command \"" + words[0] + "\"", {}, std::move(notes)});
}

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // what is too large for the user's limit is an error like a full disk
  CLI::App app("Tensorwright: kernels from tensor expressions, tuned by measuring.", "tw");
  app.set_version_flag("--version", std::string("tw ") + support::kRelease);
  app.require_subcommand(1);
  app.footer("tw COMMAND --help explains a command. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.");
  Chosen chosen;
  add_tune(app, chosen);
  add_build(app, chosen);
  add_freeze(app, chosen);
  add_log(app, chosen);
  add_report(app, chosen);
  add_doctor(app, chosen);
  add_rpc_key(app, chosen);
  add_rpc_tracker(app, chosen);
  add_rpc_query(app, chosen);
  add_board(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const CLI::App& group = chosen_group(app);
    if (error.get_name() == "RequiredError" && group.get_require_subcommand_min() > 0) {
      std::fprintf(stderr, "%s\n", no_command(group).what());
      return kUsage;
    }
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  return run_command("tw", chosen.json, chosen.run);
}

}  // namespace
}  // namespace tw::tools

int main(int argc, char** argv) { return tw::tools::main(argc, argv); }
