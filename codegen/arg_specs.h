// What a kernel of a program expects of its arguments.
#pragma once

#include <functional>
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

// What the program requires of its sizes, the conditions over s0, s1, ... too.
std::vector<ir::Requirement> numbered_requirements(const ir::Program& program);

// Of each parameter its layout, and the name of the kernel that packs it, NAME_pack_B; "" where it is not packed, and
// no text at all when none is.
std::vector<std::string> layout_texts(const ir::Program& program);
std::vector<std::string> packer_names(const ir::Program& program);

// The kernels of a module, made of its programs, in their order: those that pack for another are not among them but
// known to it.
using MakeKernel = std::function<std::shared_ptr<const runtime::Kernel>(const ir::Program&, runtime::Packers)>;
std::vector<std::shared_ptr<const runtime::Kernel>> kernels_of(const std::vector<ir::Program>& programs,
                                                               const MakeKernel& make);

// Throws where one of the programs calls functions that only this process knows.
void require_saveable(const std::vector<ir::Program>& programs);

}  // namespace tw::codegen
