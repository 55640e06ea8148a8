//   for i.o in 0..ceildiv(n, 64):     bx in 0..ceildiv(n, 64) at the same time:   // each a block of the device
//     for i.i in 0..64:         ==>     tx in 0..64 at the same time:             // its threads
//       body                              body
//
// The loop is an index of a device: it has no place of its own any more, its variable is the index wherever the stage's
// iterations run. Blocks run in any order, so they share no term of a sum; the threads of a block have a partial result
// each, and these are joined through memory that they share (thread_sums.h): one of the Steps that reassociate
// (docs/semantics.md). A loop that is bound to vthread keeps its place, and its iterations go on side by side
// (vthreads.h). What a whole launch has to obey is check_launches.cc's.

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

namespace {

std::optional<Annotation> named(const std::string& thread) {
  if (thread == to_string(Annotation::kVirtual)) return Annotation::kVirtual;
  const auto* index = std::ranges::find(kDeviceIndices, thread, [](Annotation a) { return to_string(a); });
  return index == std::end(kDeviceIndices) ? std::nullopt : std::optional(*index);
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Bind& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  const Axis& loop = nest.stage(stage).axes[axis];
  const std::optional<Annotation> index = named(step.thread);
  if (!index) {
    std::vector<std::string> names{to_string(Annotation::kVirtual)};
    for (Annotation known : kDeviceIndices) names.insert(names.begin(), to_string(known));
    return with_hint(refuse(step.kName, "thread must be one of " + join(names) + ", not " + step.thread), step.thread,
                     names);
  }
  TW_TRY([[maybe_unused]] Unit is_plain,
         plain(nest.stage(stage), step.kName, axis, "a loop is bound, vectorized, unrolled or parallel"));
  if (loop.reduction && is_block(*index))
    return refuse(step.kName, "a loop of a reduction must not be bound to " + step.thread + ", as " + loop.name + " is")
           << describe(nest.stage(stage), axis) << "blocks share no partial results"
           << "bind it to threadIdx, or rfactor it: the new stage's blocks each write a part, and a second launch sums";
  if (loop.reduction && index == Annotation::kVirtual)
    return refuse(step.kName, "a loop of a reduction must not be bound to vthread, as " + loop.name + " is")
           << describe(nest.stage(stage), axis) << "virtual threads have sums of their own, and nothing joins them"
           << "unroll it, or rfactor it and bind the new stage's loop";
  for (AxisId other : nest.stage(stage).leaves)
    if (is_bound(*index) && nest.stage(stage).axes[other].annotation == *index)
      return refuse(step.kName, "an index must be bound once in a stage, and " + step.thread + " is " +
                                    nest.stage(stage).axes[other].name + " already")
             << describe(nest.stage(stage), axis) << "fuse both loops before, or take another index";
  LoopNest next = nest;
  Axis& changed = next.edit(stage).axes[axis];
  changed.annotation = *index;
  changed.annotated_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
