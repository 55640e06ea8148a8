// Lowered programs as machine code that runs between guard zones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"
#include "tests/diff/values.h"

namespace tw::diff {

using Kernels = std::vector<std::shared_ptr<const runtime::Kernel>>;

// All programs as one module.
Kernels compile_llvm(std::span<const ir::Program> lowered, int opt_level);

struct Ran {
  Memory memory;
  std::string damage;  // what was written outside of the arguments, or to inputs; or ""
};
Ran run(const runtime::Kernel&, const Sample&, const Memory& inputs);

}  // namespace tw::diff
