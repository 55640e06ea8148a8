// The C functions that a program calls.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

// Each once, in the order of their first call: the order of the table that a kernel is given.
std::vector<std::string> extern_symbols(const Program&);

}  // namespace tw::ir
