//   for i in 0..64:                          for i in 0..64:
//     for j.i in 0..16:                ==>     C[i, 0 : 16] = fma_16(C[i, 0 : 16], A[i, k], B[k, 0 : 16])
//       C[i, j.i] = C[i, j.i] + A[i, k] * B[k, j.i]
//
// The loops from the axis on become the statement of an intrinsic that computes the same. That they do is judged on the
// whole nest (schedule/match_intrin.h), since regions depend on where a stage stands: expression, extents and reads
// have to agree.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Tensorize& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  const te::TensorIntrinPtr intrin = te::find_tensor_intrin(step.intrin);
  if (!intrin)
    return with_hint(refuse(step.kName, "intrin must be one that is declared here, not " + step.intrin), step.intrin,
                     te::tensor_intrin_keys())
           << "te.decl_tensor_intrin declares one; after the @ of a name stands the hash of what was declared";
  const AxisId before =
      nest.stage(stage).tensorized.axis;  // a loop that is no more is forgotten, the same one replaced
  if (before != kNone && before != axis && nest.stage(stage).position(before) != kNone)
    return refuse(step.kName, "stage must be tensorized at one loop, and " + step.stage + " is at " +
                                  nest.stage(stage).axes[before].name)
           << describe(nest.stage(stage))
           << "the loops from " + nest.stage(stage).axes[before].name +
                  " on are one statement already; tvm refuses two "
                  "such loops when it lowers"
           << "tensorize " + nest.stage(stage).axes[before].name + " again to give it another intrinsic";
  TW_TRY([[maybe_unused]] Unit is_plain,
         plain(nest.stage(stage), step.kName, axis, "the loops from the axis on are replaced by one statement"));
  LoopNest next = nest;
  next.edit(stage).tensorized = {axis, intrin, nest.steps_applied()};
  return next;
}

}  // namespace tw::schedule::primitives
