// Operands of a product of four warps, which find them in shared memory (src/ir/group_products.h).
#pragma once

#include "schedule/match_intrin.h"

namespace tw::schedule {

// How the operand lies that is this load of the stage, over its loops; the Diagnostic names the rule alone.
Result<ir::GroupOperand> group_operand(const LoopNest&, const Placement&, const NestBounds&, int stage,
                                       const WarpOperands&, const ir::WarpProduct&, ir::Fragment which);

// Whether a product of four warps reads what is kept of the stage.
bool is_group_operand(const LoopNest&, const Placement&, int stage);

// Whether it is one of float32 that is to be rounded to 11 bits where it is kept: the product leaves the others out.
bool is_rounded_operand(const LoopNest&, const Placement&, int stage);

}  // namespace tw::schedule
