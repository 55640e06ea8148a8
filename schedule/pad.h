// split(tail="pad"): an axis of an intermediate is rounded up to a multiple of the factor.
//
//   alloc P[70]                                  alloc P[80]
//   for i.o in 0..5:                             for i.o in 0..5:
//     for i.i in 0..16:                  ==>       for i.i in 0..16:
//       if i.o*16 + i.i < 70:                        P[i.o*16 + i.i] = f(...)
//         P[i.o*16 + i.i] = f(...)
//
// No definition reads the elements past the end, so they may hold anything. Only computing them must do no harm: where
// it cannot be proved that what they read is there, the value is select(i < 70, f(...), 0) instead.
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// Whether a split of the root axis, or of the outer loop that one left, pads.
bool is_padded(const StageNest&, AxisId axis);

// Extents of the padded axes of a region, rounded up.
void round_up(const StageNest&, StageBounds&);

// The elements of a padded stage for which its definition may be computed, and of one that is filled (filled.h) those
// that it has; empty: all that there are.
ir::Expr defined_part(const LoopNest&, const Placement&, const NestBounds&, int stage);

// The value there, elsewhere 0.
ir::Expr where_defined(const ir::Expr& part, const ir::Expr& value);

// What `step` must not pad, judged by the axis alone. A factor of 0: by parts.
Status check_pad(const LoopNest&, const char* step, int stage, AxisId axis, const Extent& factor, const Extent& parts);
// The rules of the whole nest; the stages in `given` are arguments.
Status check_pads(const LoopNest&, const Placement&, const std::vector<int>& given, const std::vector<Step>&);

}  // namespace tw::schedule
