// Reads at clamped or wrapped places as choices, which `partition` cuts loops at, and back.
//
//   A[max(x - 1, 0)]     <==>     select(0 <= x - 1, A[x - 1], A[max(x - 1, 0)])
//   A[(x + 1) % 64]      <==>     select(x + 1 < 64, A[x + 1], A[(x + 1) % 64])
//
// Requires: nothing; `clamps` stands before `lanes`, which looks for reads of neighbours.
// Establishes: a subscript that is limited by a number or an extent stands in a choice whose first value has no limit.
// Remainders count where most values are inside. What no loop decides, `partition` writes as it was.
// Leaves alone: limits of values that are read, and limits of one another.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program clamps(const ir::Program&, const Target&);

// Whether it is such a choice, and the program without them.
bool is_clamped_read(const ir::Select&);
ir::Stmt with_clamped_reads(const ir::Stmt&);

}  // namespace tw::lower
