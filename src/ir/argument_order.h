// The argument list of a kernel.
#pragma once

#include <cstddef>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

// Params by their numbers, and scalars behind those by theirs. What the user passes stands in its place, sizes that
// shapes give come last.
std::vector<size_t> argument_order(const Program&);

}  // namespace tw::ir
