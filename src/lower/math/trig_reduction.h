// How far a number is from the nearest multiple of pi/2, for every number that its type has.
#pragma once

#include "src/lower/math/computation.h"

namespace tw::lower::math {

inline constexpr double kFewTurns = 0x1p20;  // radians

// x = n * pi/2 + high + low,  |high| <= pi/4.  All in float64; `low` is empty where the argument was a float32, whose
// results need no more digits than `high` has. Infinities and NaN give NaN.
struct Reduced {
  ir::Expr quadrant;  // n mod 4, in the lowest two bits of an integer
  ir::Expr high, low;
};
Reduced from_multiple_of_half_pi(Computation& float64, const ir::Expr& x, bool of_float32);
// The same where |x| <= kFewTurns, in far fewer instructions.
Reduced from_near_multiple_of_half_pi(Computation& float64, const ir::Expr& x, bool of_float32);

}  // namespace tw::lower::math
