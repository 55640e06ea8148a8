// Cutting loops at the values where conditions inside begin or cease to hold: the engine of `tails` and `partition`.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

enum class SplitAt : uint8_t {
  kGuards,   // conditions of If, by the Tail of the loop; what is left over is cut further
  kSelects,  // conditions of Select (padding); what is left over keeps them
};

// Copies of one body, at most `max_copies`. `scalars` are the variables of the program's extents.
ir::Stmt split_loops(const ir::Stmt&, SplitAt, int max_copies, const ir::Bounds& scalars);

}  // namespace tw::lower
