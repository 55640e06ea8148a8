// What the back ends decide alike about scratch memory: which of it stands on the stack.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorwright/ir.h"

namespace tw::codegen {

// Of a compact buffer of constant shape.
std::optional<int64_t> known_elements(const ir::Buffer&);

// Whether a private array of so many bytes may stand in a function that has `used` bytes of them.
bool fits_on_stack(int64_t bytes, int64_t used);

}  // namespace tw::codegen
