// One lane of the dot products of ir.h, written with scalars.
#pragma once

#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

// c and the products of a[j] and b[j] that belong to its lane.
ir::Expr dot_lane(ir::Fn fn, ir::Expr c, const std::vector<ir::Expr>& a, const std::vector<ir::Expr>& b);

}  // namespace tw::codegen
