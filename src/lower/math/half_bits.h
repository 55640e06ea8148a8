// Conversions between float32 and the 16-bit floats, by integer arithmetic on their patterns.
#pragma once

#include "tensorwright/ir.h"

namespace tw::lower::math {

// `half`, of type float16 or bfloat16, as float32: exact.
ir::Expr widen(const ir::Expr& half);

// `x`, a float32, as `half_type`: to nearest, ties to even.
ir::Expr narrow(ir::Type half_type, const ir::Expr& x);

// `x`, a float64, as a float32 whose further rounding to a half gives what rounding `x` once would: the last bit is 1
// where bits were dropped.
ir::Expr to_odd_float32(const ir::Expr& x);

}  // namespace tw::lower::math
