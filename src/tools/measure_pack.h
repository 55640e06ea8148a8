// The candidates of a pack, measured from the command line: what tw-board measure and tw-measure have in common.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rpc/pack.h"
#include "tensorwright/runtime.h"

namespace tw::tools {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

struct MeasureOptions {
  std::string pack, log;
  bool json = false, quiet = false;
};

// Until it is done or interrupted; prints what came of it, and progress to stderr. Returns the exit code. Throws
// tw::Error.
int measure_pack(const rpc::Pack&, runtime::Runner&, const MeasureOptions&);

void print_json(const nlohmann::ordered_json&);
// What `work` returns, or kFailed after saying why: as JSON too, where that was asked for.
int run_command(const std::string& program, bool json, const std::function<int()>& work);

}  // namespace tw::tools
