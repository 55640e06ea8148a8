// Index arithmetic for passes that build subscripts: operands of different lanes, with constants and ramps folded on
// the way.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// `e` as a vector of `lanes` (the same expression when it is one already).
ir::Expr with_lanes(const ir::Expr& e, int lanes);

// Sums and products of index expressions; a scalar operand is broadcast to the lanes of the other. A ramp plus a scalar
// and a ramp times a scalar stay ramps.
ir::Expr add(const ir::Expr& a, const ir::Expr& b);
ir::Expr subtract(const ir::Expr& a, const ir::Expr& b);
ir::Expr multiply(const ir::Expr& a, const ir::Expr& b);

// a && b of predicates that may be empty ("always") and of different lanes.
ir::Expr both(const ir::Expr& a, const ir::Expr& b);

// The operands of a chain of `&&`, left to right.
std::vector<ir::Expr> conjuncts(const ir::Expr& condition);
// The chain again; empty for no conjuncts.
ir::Expr conjunction(const std::vector<ir::Expr>& conjuncts);

bool uses_any(const ir::Expr&, const ir::Bounds& vars);

}  // namespace tw::lower
