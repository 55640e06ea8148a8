// Values in twice their type's precision: a sum or a product together with its rounding error.
#pragma once

#include "src/lower/math/computation.h"

namespace tw::lower::math {

// high + low, |low| below half a unit of high's last place.
struct Pair {
  ir::Expr high, low;
};

Pair two_sum(Computation&, const ir::Expr& a, const ir::Expr& b);
Pair fast_two_sum(Computation&, const ir::Expr& a, const ir::Expr& b);  // |a| >= |b|, or a = 0
// Without a fused multiply-add of float64 only, by Dekker's splitting into halves of 26 bits.
Pair two_product(Computation&, const ir::Expr& a, const ir::Expr& b);

}  // namespace tw::lower::math
