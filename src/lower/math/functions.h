// The functions that the IR knows, as arithmetic. docs/math.md states what each promises.
#pragma once

#include <optional>

#include "src/lower/math/computation.h"
#include "src/lower/math/pair.h"

namespace tw::lower::math {

// Each takes a named value of the computation's type and gives an expression of the same type.
ir::Expr exp(Computation&, const ir::Expr& x);
ir::Expr near_exp(Computation&, const ir::Expr& x);  // of float32, the same for |x| <= 87
ir::Expr exp2(Computation&, const ir::Expr& x);
ir::Expr expm1(Computation&, const ir::Expr& x);
ir::Expr log(Computation&, const ir::Expr& x);
ir::Expr log2(Computation&, const ir::Expr& x);
ir::Expr log10(Computation&, const ir::Expr& x);
ir::Expr log1p(Computation&, const ir::Expr& x);
ir::Expr sin(Computation&, const ir::Expr& x);
ir::Expr cos(Computation&, const ir::Expr& x);
ir::Expr tan(Computation&, const ir::Expr& x);
ir::Expr atan(Computation&, const ir::Expr& x);
ir::Expr cbrt(Computation&, const ir::Expr& x);
ir::Expr tf32(Computation&, const ir::Expr& x);  // of float32
// a * b + x of float32, rounded once.
ir::Expr fma(Computation&, const ir::Expr& a, const ir::Expr& b, const ir::Expr& x);
ir::Expr tanh(Computation&, const ir::Expr& x);
ir::Expr sigmoid(Computation&, const ir::Expr& x);
ir::Expr erf(Computation&, const ir::Expr& x);
ir::Expr pow(Computation&, const ir::Expr& x, const ir::Expr& y);
// The same of an exponent that operations make; nothing of others.
std::optional<ir::Expr> constant_pow(Computation&, const ir::Expr& x, double y);
// Of whole numbers, wrapping; a negative exponent gives 1 / x^-y rounded towards zero, 0 where x is 0.
ir::Expr whole_pow(Computation&, const ir::Expr& x, const ir::Expr& exponent);

// Rounding to integers without SSE4.1's instruction.
ir::Expr round(Computation&, const ir::Expr& x);
ir::Expr trunc(Computation&, const ir::Expr& x);
ir::Expr floor(Computation&, const ir::Expr& x);
ir::Expr ceil(Computation&, const ir::Expr& x);

// e^x = 2^n * (1 + p) with |ln(2^n)| at most near |x|, of an x whose 2^n is a normal number.
struct NormalExp {
  ir::Expr p;      // e^r - 1, |r| <= ln(2)/2
  ir::Expr scale;  // 2^n
};
NormalExp normal_exp(Computation&, const ir::Expr& x);
// e^x of an x that is not far beyond the ends, where e^x is infinity or 0.
ir::Expr exp_inside(Computation&, const ir::Expr& x);

// e^(high + low) of float64 within its finite exponents and a `low` below 2^-29, to 0.7 units; the nearest number where
// the exact result is one.
ir::Expr exp(Computation&, const Pair& x);

}  // namespace tw::lower::math
