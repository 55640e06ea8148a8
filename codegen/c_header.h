// The C header that stands beside a saved kernel.
#pragma once

#include <string>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// A self-contained header: the ABI, the kernel's declaration, a default context (OpenMP when compiled with it, serial
// otherwise) and <name>_run with one typed pointer per parameter. Nothing of Tensorwright is needed at run time.
std::string c_header(const ir::Program& program, const Target& target);

}  // namespace tw::codegen
