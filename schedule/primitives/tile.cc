//   for x in 0..n:                  for x.o in 0..ceildiv(n, fx):
//     for y in 0..m:      ==>         for y.o in 0..ceildiv(m, fy):
//       body(x, y)                      for x.i in 0..fx:
//                                         for y.i in 0..fy:
//                                           body(x.o*fx + x.i, y.o*fy + y.i)
//
// Two splits and a reorder as one Step. Loops between x and y stay where they are.

#include "schedule/pad.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Tile& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  TW_TRY(AxisId x, free_leaf(before, step.kName, step.x));
  TW_TRY(AxisId y, free_leaf(before, step.kName, step.y));
  if (x == y) return refuse(step.kName, "x and y must be two loops, not " + step.x + " twice") << describe(before);
  TW_TRY(const Size x_factor, size_of(nest, step.kName, "x_factor", step.x_factor));
  TW_TRY(const Size y_factor, size_of(nest, step.kName, "y_factor", step.y_factor));
  for (AxisId axis : {x, y}) {
    TW_TRY([[maybe_unused]] Unit is_plain, plain(before, step.kName, axis, "tile before you annotate"));
  }
  if (step.tail == Tail::kNone)
    return refuse(step.kName, "tail must be auto, guard, mask, peel, pad or shift_inward, not none");
  if (step.tail == Tail::kPad) {
    TW_TRY([[maybe_unused]] Unit padded_x, check_pad(nest, step.kName, stage, x, x_factor.extent, 0));
    TW_TRY([[maybe_unused]] Unit padded_y, check_pad(nest, step.kName, stage, y, y_factor.extent, 0));
  }

  LoopNest next = nest;
  take_size(next, x_factor);
  take_size(next, y_factor);
  StageNest& changed = next.edit(stage);
  SplitAxes xs = split_leaf(changed, x, x_factor.extent, 0, step.tail, nest.steps_applied());
  SplitAxes ys = split_leaf(changed, y, y_factor.extent, 0, step.tail, nest.steps_applied());
  permute_leaves(changed, {xs.outer, ys.outer, xs.inner, ys.inner});
  return next;
}

}  // namespace tw::schedule::primitives
