// A candidate at sizes that an interpreter can run: the same Steps on the same expression, of as few blocks and
// iterations as show all of its program.
//
//   C[1000, 4096] of k = 8192, blocks of 128 x 128, k by 32 in a ring of 3 slots   ==>   C[232, 256] of k = 160
//
// An extent leaves what it left when divided by the loop's factors, so that every tail is there: two blocks of each
// axis, and of a pipelined loop two iterations more than there are slots. Extents go together where a subscript says
// so, and stay where an expression knows them in another way.
#pragma once

#include <optional>

#include "tensorwright/autotune.h"

namespace tw::autotune {

// Empty: none would be smaller, or the Steps do not fit.
std::optional<Scheduled> at_small_sizes(const Scheduled&);

}  // namespace tw::autotune
