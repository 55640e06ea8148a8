// Arithmetic on constants, exactly as ir.h defines it. Empty when the operation is not folded: transcendental
// functions, whose value the pass `intrinsics` defines.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

// Operands and results are scalar IntImm or FloatImm.
Expr fold(BinOp, const Expr& a, const Expr& b);
Expr fold_cast(Type, const Expr& value);
Expr fold_call(const Call&, Type);

// `value` as an integer of the type: two's-complement wrap (an index stays as it is).
int64_t wrap(Type, int64_t value);
// A float as an integer of the type: truncates, saturates, 0 for NaN.
int64_t saturate(Type, double value);

}  // namespace tw::ir
