// The back ends: what becomes of a schedule for a kind of target, a row each.
#pragma once

#include <memory>
#include <vector>

#include "schedule/explain.h"
#include "src/lower/pipeline.h"
#include "tensorwright/build.h"

namespace tw::codegen {

struct Backend {
  const char* kind;             // of Target
  const lower::Passes& passes;  // from a schedule's loops to what make_module takes
  // `programs` are lowered, those that pack for others among them. Throws tw::Error.
  std::shared_ptr<const Module> (*make_module)(const std::vector<ir::Program>& programs, const Target&, int opt_level);
  schedule::Explanation (*explain)(const schedule::Schedule&, const schedule::Machine&);  // what bounds a schedule
};

const Backend& backend_of(const Target&);  // throws kTarget for a kind that this build has none for

}  // namespace tw::codegen
