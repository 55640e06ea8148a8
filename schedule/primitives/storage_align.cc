//   alloc P: float32[64, 64]                 alloc P: float32[64, 64] strides [80, 1]
//   P[i, j] = ...                    ==>     P[i, j] = ...                // storage_align(i, factor=32, offset=16)
//
// Rows of a power of two fall into the same sets of a cache; a stride that leaves `offset` when divided by `factor`
// spreads them. Only memory that the kernel allocates: an output lies as the caller laid it out.

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const StorageAlign& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  AxisId axis = before.find_axis(step.axis);
  if (axis == kNone || axis >= before.data_rank) {
    std::vector<std::string> names;
    for (int d = 0; d < before.data_rank; ++d) names.push_back(before.axes[d].name);
    return with_hint(
               refuse(step.kName, "axis must be a data axis of the definition of " + step.stage + ", not " + step.axis),
               step.axis, names)
           << "its dimensions are " + join(names);
  }
  if (before.output)
    return refuse(step.kName, "stage must be kept in memory of the kernel, not be an output, as " + step.stage + " is")
           << "the caller laid out its memory; cache_write(" + step.stage + ") computes it in a stage of the kernel";
  if (before.layout)
    return refuse(step.kName,
                  "stage must have the dimensions of its definition; transform_layout gave " + step.stage + " others")
           << describe(before) << "write the gap into the index map";
  if (step.factor < 1 || step.factor > kLargestAlignment)
    return refuse(step.kName,
                  "factor must be in 1.." + std::to_string(kLargestAlignment) + ", not " + std::to_string(step.factor));
  if (step.offset < 0 || step.offset >= step.factor)
    return refuse(step.kName, "offset must be in 0..factor - 1 = " + std::to_string(step.factor - 1) + ", not " +
                                  std::to_string(step.offset));
  LoopNest next = nest;
  std::vector<Alignment>& alignments = next.edit(stage).alignments;
  std::erase_if(alignments, [&](const Alignment& known) { return known.axis == axis; });
  alignments.push_back({axis, step.factor, step.offset});
  return next;
}

}  // namespace tw::schedule::primitives
