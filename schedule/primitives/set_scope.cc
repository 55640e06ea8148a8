//   alloc P in memory                 alloc P in registers or on the stack
//   P[..] = ...           ==>         P[..] = ...
//   C[..] = f(P[..])                  C[..] = f(P[..])
//
// Where the values of a stage live. A local stage that several threads would share is kept in memory after all: a scope
// is a wish about speed, never about meaning.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const SetScope& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  if (step.scope == Scope::kArgument)
    return refuse(step.kName, "scope must be local, warp, shared or global, not argument");
  if (nest.stage(stage).output && (step.scope == Scope::kLocal || step.scope == Scope::kWarp))
    return refuse(step.kName, "scope of an output must be global, not " + to_string(step.scope))
           << step.stage + " lives in the caller's memory; cache_write(" + step.stage +
                  ", \"local\") computes it in a local stage first";
  LoopNest next = nest;
  next.edit(stage).scope = step.scope;
  return next;
}

}  // namespace tw::schedule::primitives
