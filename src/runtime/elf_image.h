// A shared object in memory, without a dynamic linker.
#pragma once

#include <memory>
#include <string_view>

#include "src/runtime/image.h"
#include "tensorwright/error.h"

namespace tw::runtime {

// Copies the object (elf_object.h says what it may be) to memory of its own and relocates it there; nothing of it runs.
// No page is ever writable and executable at once. The image owns the memory: its code and symbols end with it.
Result<std::unique_ptr<Image>> map_elf(std::string_view bytes);

}  // namespace tw::runtime
