//   for i in 0..n:                  for i.o in 0..ceildiv(n, f):
//     body(i)             ==>         for i.i in 0..f:
//                                       body(i.o*f + i.i)      // guarded, masked, peeled or shifted: see Tail
//
// With nparts = p, f is ceildiv(n, p), and the outer loop has p iterations, less those that would be empty.
//
// Meaning never changes: i.o*f + i.i takes each value in 0..n once; the tail says what happens to those past n. Whether
// the tail is legal depends on the whole nest (a reduction outside it, a parallel loop), so check.h decides.

#include <tuple>

#include "schedule/bounds.h"
#include "schedule/pad.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"

namespace tw::schedule::primitives {

SplitAxes split_leaf(StageNest& stage, AxisId axis, const Extent& factor, const Extent& parts, Tail tail, int step) {
  const Axis parent = stage.axes[axis];
  Axis outer, inner;
  outer.name = parent.name + ".o";
  inner.name = parent.name + ".i";
  outer.reduction = inner.reduction = parent.reduction;
  SplitAxes made{static_cast<AxisId>(stage.axes.size()), static_cast<AxisId>(stage.axes.size()) + 1};
  const SplitRelation relation{axis, made.outer, made.inner, factor, parts, tail, step};
  std::tie(outer.extent, inner.extent) = split_extents(parent.extent, relation);
  stage.axes.push_back(outer);
  stage.axes.push_back(inner);
  stage.relations.push_back(relation);
  auto at = stage.leaves.begin() + stage.position(axis);
  *at = made.outer;
  stage.leaves.insert(at + 1, made.inner);
  return made;
}

Result<LoopNest> apply(const LoopNest& nest, const Split& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  if (step.factor.has_value() == step.nparts.has_value())
    return refuse(step.kName, std::string("exactly one of factor and nparts must be given, not ") +
                                  (step.factor ? "both" : "neither"))
           << describe(nest.stage(stage), axis);
  const char* field = step.factor ? "factor" : "nparts";
  auto given = size_of(nest, step.kName, field, step.factor ? *step.factor : *step.nparts);
  if (!given.ok()) return std::move(given).error() << describe(nest.stage(stage), axis);
  TW_TRY([[maybe_unused]] Unit is_plain, plain(nest.stage(stage), step.kName, axis, "split before you annotate"));
  if (step.tail == Tail::kNone)
    return refuse(step.kName, "tail must be auto, guard, mask, peel, pad or shift_inward, not none");
  const Extent factor = step.factor ? given->extent : 0, parts = step.nparts ? given->extent : 0;
  if (step.tail == Tail::kPad) {
    TW_TRY([[maybe_unused]] Unit padded, check_pad(nest, step.kName, stage, axis, factor, parts));
  }

  LoopNest next = nest;
  take_size(next, *given);
  split_leaf(next.edit(stage), axis, factor, parts, step.tail, nest.steps_applied());
  return next;
}

}  // namespace tw::schedule::primitives
