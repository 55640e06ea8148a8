// Lowered programs as the text of one C99 file that needs nothing of ours: the kernels follow kernel_abi.h.
//
// It reads as the schedule was written: a loop has the name of its axis, a stage that of its buffer. A statement about
// vectors is a loop over lanes, which compilers turn into one again; vectors that live longer have types of GNU C when
// the macro TW_VECTORS is 1 (by default: when the compiler knows them), and are arrays in plain C99.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// Programs are lowered as for LLVM (codegen/llvm/backend.h); their names differ.
std::string c_source(const std::vector<ir::Program>& programs, const Target& target);

}  // namespace tw::codegen
