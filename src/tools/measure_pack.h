// The candidates of a pack, measured from the command line: what tw-board measure and tw-measure have in common.
#pragma once

#include <string>

#include "rpc/pack.h"
#include "tensorwright/runtime.h"

namespace tw::tools {

struct MeasureOptions {
  std::string pack, log;
  bool json = false, quiet = false;
};

// Until it is done or interrupted; prints what came of it, and progress to stderr. Returns the exit code. Throws
// tw::Error.
int measure_pack(const rpc::Pack&, runtime::Runner&, const MeasureOptions&);

}  // namespace tw::tools
