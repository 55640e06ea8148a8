// What a kernel of a program expects of its arguments.
#pragma once

#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"

namespace tw::codegen {

// One specification a parameter; shapes and strides are constants.
std::vector<runtime::ArgSpec> arg_specs(const ir::Program& program);

}  // namespace tw::codegen
