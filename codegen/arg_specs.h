// What a kernel of a program expects of its arguments.
#pragma once

#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"

namespace tw::codegen {

// One specification a parameter; shapes and strides are constants or expressions over the scalars.
std::vector<runtime::ArgSpec> arg_specs(const ir::Program& program);
std::vector<runtime::ScalarSpec> scalar_specs(const ir::Program& program);

// The symbolic extents and strides as the descriptor has them: over s0, s1, ...; empty texts where there is a number,
// and no text at all when nothing is symbolic.
std::vector<std::string> extent_texts(const ir::Program& program);

// Throws where the program calls functions that only this process knows.
void require_saveable(const ir::Program& program);

}  // namespace tw::codegen
