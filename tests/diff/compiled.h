// Lowered programs as machine code that runs between guard zones, and between pages that may not be touched.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"
#include "tests/diff/values.h"

namespace tw::diff {

using Kernels = std::vector<std::shared_ptr<const runtime::Kernel>>;

// All programs as one module; as one C file. With vectors of the compiler, or without.
Kernels compile_llvm(const std::vector<ir::Program>& lowered, int opt_level);
Kernels compile_c(const std::vector<ir::Program>& lowered, bool vectors);
bool has_c_compiler();
// Whether the text of its C is short enough for a compiler: gcc takes minutes for a function of 20,000 lines.
bool suits_c(const ir::Program& lowered);

struct Ran {
  Memory memory;
  int32_t code = 0;    // that the kernel returned
  std::string damage;  // what was written outside of the arguments, or to inputs; or ""
};
Ran run(const runtime::Kernel&, const Sample&, const Memory& inputs, std::vector<uint64_t> scalars);

}  // namespace tw::diff
