// Modules of the target "interp": the interpreter runs the lowered program, with all its checks.
#pragma once

#include "tensorwright/build.h"

namespace tw::codegen {

std::shared_ptr<const Module> make_interp_module(const std::vector<ir::Program>& programs, const Target& target,
                                                 int opt_level);

}  // namespace tw::codegen
