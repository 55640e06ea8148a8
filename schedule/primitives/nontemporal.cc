//   for i in 0..n: C[i] = f(A[i])     ==>     the same loops: C[i] is stored past the caches     // nontemporal()
//
// An output that is larger than the caches is gone from them before anybody reads it: without the Step each line is
// read from memory first, to be written as a whole in the end. A hint: no value depends on it. The program says it of
// the parameter, and code generation has the instructions. What must be stored once is judged with the whole nest.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Nontemporal& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  if (!nest.stage(stage).output)
    return refuse(step.kName, "stage must be an output, which " + step.stage + " is not")
           << "what the kernel reads again should stay in the caches";
  if (nest.stage(stage).op->external())
    return refuse(step.kName, "stage must not be an extern, as " + step.stage + " is")
           << "a C function writes it, in its own way";
  LoopNest next = nest;
  next.edit(stage).nontemporal = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
