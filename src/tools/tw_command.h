// The commands of tw. Each adds its options to the command line and leaves in `chosen` what runs when it is the one.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>

#include "src/tools/run_command.h"
#include "tensorwright/error.h"

namespace tw::tools {

struct Chosen {
  std::function<int()> run;
  bool json = false;  // errors too are printed as JSON
};

void add_tune(CLI::App&, Chosen&);
void add_build(CLI::App&, Chosen&);
void add_freeze(CLI::App&, Chosen&);
void add_log(CLI::App&, Chosen&);
void add_report(CLI::App&, Chosen&);
void add_doctor(CLI::App&, Chosen&);
void add_rpc_key(CLI::App&, Chosen&);
void add_rpc_tracker(CLI::App&, Chosen&);
void add_rpc_query(CLI::App&, Chosen&);
void add_board(CLI::App&, Chosen&);

// The NAME=VALUE of --shape, for messages of a command.
std::map<std::string, std::string> parameters_of(const std::string& command, const std::vector<std::string>& shape);

void add_json_option(CLI::App&, Chosen&);
[[noreturn]] void fail(std::string what, std::vector<std::string> notes = {});

}  // namespace tw::tools
