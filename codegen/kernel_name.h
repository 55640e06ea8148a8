// Which names a kernel may have.
#pragma once

#include <string>

#include "tensorwright/error.h"

namespace tw::codegen {

// A C identifier; one that a user gives has at most 128 characters. Names such as `exp` or `main` are fine: symbols
// carry a prefix.
Status check_kernel_name(const std::string& name, size_t longest = 128);

}  // namespace tw::codegen
