// The texts of products of four warps, which differ in the registers that they name.
#pragma once

#include <vector>

#include "codegen/cuda/instructions.h"

namespace tw::codegen {

std::vector<Instruction> group_instructions();

}  // namespace tw::codegen
