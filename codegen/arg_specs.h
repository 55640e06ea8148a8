// What a kernel of a program expects of its arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/runtime/kernel.h"
#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"

namespace tw::codegen {

// One specification a parameter; shapes and strides are constants or expressions over the scalars.
std::vector<runtime::ArgSpec> arg_specs(const ir::Program& program);
std::vector<runtime::ScalarSpec> scalar_specs(const ir::Program& program);

// The symbolic extents and strides as the descriptor has them: over s0, s1, ...; empty texts where there is a number,
// and no text at all when nothing is symbolic.
std::vector<std::string> extent_texts(const ir::Program& program);

// Of each parameter its layout, and the name of the kernel that packs it, NAME_pack_B; "" where it is not packed, and
// no text at all when none is.
std::vector<std::string> layout_texts(const ir::Program& program);
std::vector<std::string> packer_names(const ir::Program& program);

// The kernels that pack, in the places of the parameters: of `kernels` those that packer_names says.
runtime::Packers packers_among(const std::vector<std::shared_ptr<const runtime::Kernel>>& kernels,
                               const ir::Program& program);

// Throws where the program calls functions that only this process knows.
void require_saveable(const ir::Program& program);

}  // namespace tw::codegen
