// How the code of a candidate comes into this process, and which C functions of it that code may call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/runtime/find_externs.h"
#include "src/runtime/image.h"
#include "tensorwright/blob.h"

namespace tw::runtime {

struct Linking {
  Result<std::unique_ptr<Image>> (*load)(const Blob& object);
  Result<Externs> (*find_externs)(const std::string& kernel, const std::vector<std::string>& symbols);
};

// Any shared object, and whatever this process can find. What it loads stays: it may be damaged.
Linking by_dynamic_linker();

// Objects that need nothing (elf_object.h), and no C functions: for programs that are linked statically.
Linking without_dynamic_linker();

}  // namespace tw::runtime
