// One function per kind of Step; each has a file of its own, which opens with the loops before and after.
//
// They judge what a single Step can be judged by. Rules of the whole nest (placement, tails, races), which a later Step
// may break or mend, are check.h's.
#pragma once

#include "schedule/loop_nest.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest&, const Split&);
Result<LoopNest> apply(const LoopNest&, const Tile&);
Result<LoopNest> apply(const LoopNest&, const Fuse&);
Result<LoopNest> apply(const LoopNest&, const Reorder&);
Result<LoopNest> apply(const LoopNest&, const Vectorize&);
Result<LoopNest> apply(const LoopNest&, const Unroll&);
Result<LoopNest> apply(const LoopNest&, const Parallel&);
Result<LoopNest> apply(const LoopNest&, const ComputeAt&);
Result<LoopNest> apply(const LoopNest&, const ComputeRoot&);
Result<LoopNest> apply(const LoopNest&, const ComputeInline&);
Result<LoopNest> apply(const LoopNest&, const CacheRead&);
Result<LoopNest> apply(const LoopNest&, const CacheWrite&);
Result<LoopNest> apply(const LoopNest&, const Rfactor&);
Result<LoopNest> apply(const LoopNest&, const Hoist&);
Result<LoopNest> apply(const LoopNest&, const Tensorize&);
Result<LoopNest> apply(const LoopNest&, const SetScope&);
Result<LoopNest> apply(const LoopNest&, const Pragma&);
Result<LoopNest> apply(const LoopNest&, const StorageAlign&);
Result<LoopNest> apply(const LoopNest&, const DoubleBuffer&);
Result<LoopNest> apply(const LoopNest&, const RollingBuffer&);
Result<LoopNest> apply(const LoopNest&, const Prefetch&);
Result<LoopNest> apply(const LoopNest&, const Nontemporal&);
Result<LoopNest> apply(const LoopNest&, const SetStorePredicate&);
Result<LoopNest> apply(const LoopNest&, const TransformLayout&);
Result<LoopNest> apply(const LoopNest&, const Bind&);
Result<LoopNest> apply(const LoopNest&, const Pipeline&);
Result<LoopNest> apply(const LoopNest&, const Swizzle&);
Result<LoopNest> apply(const LoopNest&, const Persistent&);
Result<LoopNest> apply(const LoopNest&, const Roles&);
Result<LoopNest> apply(const LoopNest&, const Cluster&);

// Fresh outputs of the same types and shapes, for a stage of that name; and the tensors of an operation.
std::vector<te::Output> renewed(std::vector<te::Output>, const std::string& name);
std::vector<te::Tensor> outputs_of(const te::Operation&);

// A stage that may be computed in turns inside a loop of its reader.
Result<int> stage_in_turns(const LoopNest&, const char* step, const std::string& stage);

// A leaf that is bound to an index of blocks, as `because` says; `index`: one that it could be bound to.
Result<AxisId> leaf_of_blocks(const StageNest&, const char* step, const std::string& axis, const std::string& because,
                              const std::string& index);

// The change that split and tile make: `axis` is a plain leaf, and exactly one of factor and parts is positive.
struct SplitAxes {
  AxisId outer, inner;
};
SplitAxes split_leaf(StageNest&, AxisId axis, const Extent& factor, const Extent& parts, Tail, int step);

// The change that fuse makes: `inner` is the next leaf inside `outer`.
AxisId fuse_pair(StageNest&, AxisId outer, AxisId inner, int step);

// The change that reorder and tile make: the leaves in `order` keep their places, taken in that order.
void permute_leaves(StageNest&, const std::vector<AxisId>& order);

inline constexpr int64_t kLargestAlignment = int64_t{1} << 20;  // elements
inline constexpr int64_t kFarthestPrefetch = int64_t{1} << 20;  // iterations
inline constexpr const char* kSecondCache = "L2";               // of prefetch

// The largest number of lanes of a vectorized loop: TW_MAX_LANES, or 1024.
int64_t max_lanes();
// How a loop is refused that is unrolled and runs nobody knows how often.
Diagnostic unknown_iterations(const StageNest&, AxisId, const Extent& times);

}  // namespace tw::schedule::primitives
