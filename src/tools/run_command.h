// How the programs end: exit codes, errors as text and as JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace tw::tools {

using Json = nlohmann::ordered_json;

// What was asked is done; it is not, and stderr says why; the command line is wrong; the user interrupted it.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

void print_json(const Json&);
// What `work` returns, or kFailed after saying why: as JSON too, where that was asked for. Also where what it printed
// could not be written. To be called before files are opened.
int run_command(const std::string& program, bool json, const std::function<int()>& work);

}  // namespace tw::tools
