// What the back ends decide alike about scratch memory: which of it stands on the stack.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

// Of a compact buffer of constant shape.
std::optional<int64_t> known_elements(const ir::Buffer&);

// Whether a private array of so many bytes may stand in a function that has `used` bytes of them.
bool fits_on_stack(int64_t bytes, int64_t used);

// Scratch that a kernel asks its context for.
struct AskedScratch {
  ir::Expr bytes;         // over the program's scalars, unless its extent is a loop's
  bool parallel = false;  // in each of the iterations that run at once
};
std::vector<AskedScratch> asked_scratch(const ir::Program&);

}  // namespace tw::codegen
