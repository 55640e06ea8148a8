// Conversions between float32 and the 8-bit floats, by integer arithmetic on their patterns.
#pragma once

#include "tensorwright/ir.h"

namespace tw::lower::math {

// `x`, of type float8_e4m3fn or float8_e5m2, as float32: exact.
ir::Expr widen_float8(const ir::Expr& x);

// `x`, a float32, as `type`: to nearest, ties to even. What is too large is infinity in float8_e5m2, and NaN in
// float8_e4m3fn, which has no infinity.
ir::Expr narrow_float8(ir::Type type, const ir::Expr& x);

}  // namespace tw::lower::math
