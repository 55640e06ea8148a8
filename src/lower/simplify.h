// Simplifies everything that the passes before have left: subscripts, conditions, loops of one iteration.
//
// Requires: nothing. Establishes: what ir/simplify.h promises. Leaves alone: the order of stores and of float
// arithmetic.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program simplify(const ir::Program&, const Target&);

}  // namespace tw::lower
