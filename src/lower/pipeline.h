// The lists of lowering passes: pipeline.cc is a table, and the table is the documentation of the order.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

using PassFn = ir::Program (*)(const ir::Program&, const Target&);
struct Pass {
  const char* name;
  PassFn function;
  const char* why_here;
};
using Passes = std::vector<Pass>;
const Passes& cpu_passes();
const Passes& gpu_passes();  // of programs that hold launches
// The device's for a program that holds a launch, else the others.
const Passes& passes_for(const ir::Program&, const Passes& of_host);

// Of either table; null: there is none of that name.
const Pass* pass_named(std::string_view name);

// Whether loops that the schedule left plain get lanes.
enum class PlainLoops : uint8_t { kGetLanes, kStay };

// Runs all passes (or up to and including `until`). Verifies after each in debug builds and with TW_VERIFY=1 (after the
// last also what contract.h says), dumps the passes named by TW_DUMP=<pass|all> to stderr, prints times with TW_TIME=1.
ir::Program run_pipeline(const Passes&, const ir::Program&, const Target&, std::string_view until = {},
                         PlainLoops plain = PlainLoops::kGetLanes);

}  // namespace tw::lower
