// Lowered programs as machine code of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"

namespace tw::diff {

using Kernels = std::vector<std::shared_ptr<const runtime::Kernel>>;

// All programs as one module; as one C file. With vectors of the compiler, or without.
Kernels compile_llvm(const std::vector<ir::Program>& lowered, int opt_level);
Kernels compile_c(const std::vector<ir::Program>& lowered, bool vectors);
bool has_c_compiler();
// Whether the text of its C is short enough for a compiler: gcc takes minutes for a function of 20,000 lines.
bool suits_c(const ir::Program& lowered);

}  // namespace tw::diff
