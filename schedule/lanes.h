// Subscripts of which some are vectors: sums and multiples, in which ramps stay ramps.
#pragma once

#include "tensorwright/ir.h"

namespace tw::schedule {

ir::Expr plus(const ir::Expr& a, const ir::Expr& b);
ir::Expr times(const ir::Expr& a, int64_t factor);

}  // namespace tw::schedule
