// The typing rules of tvm.te 0.19 for mixed operands. Index values count as int32 there; where an index meets data it
// is cast.
#pragma once

#include "tensorwright/ir.h"

namespace tw::te {

// Both operands brought to one type: equal types stay; float wins over integer; among floats and among integers of one
// sign the wider wins; int against uint of the same width follows the table in docs/dtypes.md (as tvm's
// BinaryOpMatchTypes). A scalar beside a vector stands in each lane.
void promote(ir::Expr& a, ir::Expr& b);

// The operators as the front ends issue them: promotion, dtype errors, floor division and modulo, shallow constant
// folding.
ir::Expr arith(ir::BinOp op, ir::Expr a, ir::Expr b);

// index -> int32 where a value becomes data (the body of a compute, an argument of a function of data).
ir::Expr as_data(ir::Expr);
// data -> index where a value becomes a subscript or an extent. Floats are refused.
ir::Expr as_index(ir::Expr);

}  // namespace tw::te
