// Accesses that one instruction of a device makes for several lanes.
#pragma once

#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// Whether the lanes touch neighbouring elements of a row, from a multiple of their number on. Arrays begin at one.
bool are_neighbours(const ir::Buffer& buffer, const std::vector<ir::Expr>& at, const ir::Var& lane, int64_t lanes,
                    const ir::Bounds& ranges);

}  // namespace tw::lower
