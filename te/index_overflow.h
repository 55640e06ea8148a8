// Index arithmetic does not overflow where it is inside of a tensor; elsewhere it is done in data of 64 bits, which
// wraps.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/te.h"

namespace tw::te {

// Whether a number on the way to the value may leave 64 bits: sizes and sums of theirs do not.
bool may_overflow(const Expr& at, const ir::Bounds& ranges);

// The same subscript in arithmetic that wraps.
Expr wrapped_index(const Expr& at);

}  // namespace tw::te
