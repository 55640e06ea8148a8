// How a kernel's name becomes an ELF symbol.
#pragma once

#include <string>

#include "tensorwright/error.h"

namespace tw::codegen {

std::string kernel_symbol(const std::string& name);
std::string descriptor_symbol(const std::string& name);

// A C identifier of at most 128 characters; the wrapper in the C header is called tw_<name>, so C's own names are fine.
Status check_kernel_name(const std::string& name);

}  // namespace tw::codegen
