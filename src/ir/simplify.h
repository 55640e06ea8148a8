// The simplifier: two tables of rules, one for index arithmetic (integers that do not overflow), one for data
// arithmetic (wraps, IEEE). Float arithmetic is never reassociated and x*0, x+0, x-x of floats are not touched unless
// exactly meaning-preserving.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::ir {

// Canonical for affine index expressions: two affine expressions that are equal as polynomials simplify to equal trees
// (a sum of terms in a fixed order, constants last). Folds what bounds decide (a comparison, min/max, floordiv,
// floormod by range), reduces floordiv/floormod by constants, and keeps vectors as Ramp / Broadcast where they are.
Expr simplify(const Expr&, const Bounds& = {});

// Also: drops loops of extent 0, inlines loops of extent 1, resolves Ifs that bounds decide (loop ranges and enclosing
// conditions are known inside a body), removes empty Seqs.
Stmt simplify(const Stmt&, const Bounds& = {});

}  // namespace tw::ir
