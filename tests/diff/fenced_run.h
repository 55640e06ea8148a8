// Machine code that runs between guard zones, and between pages that may not be touched. Needs the runtime alone: the
// same code runs kernels here and, built for another CPU, under its emulator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"
#include "tests/diff/memory.h"

namespace tw::diff {

struct Argument {
  std::string name;
  bool is_input = false;
};

struct Ran {
  Memory memory;
  int32_t code = 0;    // that the kernel returned
  std::string damage;  // what was written outside of the arguments, or to inputs; or ""
};
Ran run_fenced(const runtime::Kernel&, std::span<const Argument>, const Memory& inputs, std::vector<uint64_t> scalars);

}  // namespace tw::diff
