// Functions of floats that are expressions of the others: of float64 as docs/math.md says, of narrower floats computed
// in float64 and rounded once. Operands promote; integers are errors of kind kDType but for fmod.
#pragma once

#include "tensorwright/te.h"

namespace tw::te {

Expr asin(Expr), acos(Expr), sinh(Expr), cosh(Expr), asinh(Expr), acosh(Expr), atanh(Expr), exp10(Expr);
Expr atan2(Expr y, Expr x), hypot(Expr, Expr);
Expr fmod(Expr x, Expr y);  // exact, with the sign of x; of integers the remainder of a division towards zero
Expr tf32(Expr);            // of float32: the nearest with 11 bits, ties away from zero, as tensor cores multiply it
Expr nearbyint(Expr);       // halves go to the even neighbour; te::round takes them away from zero
Expr copysign(Expr x, Expr y), nextafter(Expr from, Expr to);
Expr ldexp(Expr x, Expr n);  // x * 2^n, rounded once; n is an integer

}  // namespace tw::te
