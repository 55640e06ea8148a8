// The C header that stands beside a saved kernel.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// A self-contained header: the ABI, the declarations of the kernel and of those that pack for it, which come behind it,
// a default context (OpenMP when compiled with it, serial otherwise) and <name>_run with one typed pointer per
// parameter. Nothing of Tensorwright is needed at run time.
std::string c_header(const std::vector<ir::Program>& programs, const Target& target);

}  // namespace tw::codegen
