// Instructions by which blocks of a cluster reach each other's shared memory, beside those of instructions.cc.
#pragma once

#include <vector>

#include "codegen/cuda/instructions.h"

namespace tw::codegen {

std::vector<Instruction> cluster_instructions();

}  // namespace tw::codegen
