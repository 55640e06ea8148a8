// The commands of tw. Each adds its options to the command line and leaves in `chosen` what runs when it is the one.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "rpc/net/secret.h"
#include "tensorwright/error.h"

namespace tw::tools {

using Json = nlohmann::ordered_json;

// Exit codes: 0, what was asked is done; 1, it is not, and stderr says why; 2, the command line is wrong;
// 130, interrupted.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

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

// Of --secret; none where it is not given.
std::optional<rpc::Secret> secret_in(const std::string& path);

void add_json_option(CLI::App&, Chosen&);
void print_json(const Json&);
[[noreturn]] void fail(std::string what, std::vector<std::string> notes = {});

}  // namespace tw::tools
