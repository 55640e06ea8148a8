// What the loops of a device come to: how many blocks and threads a launch has, and which of them compute each stage.
//
//   C: i.o blockIdx.x, i.i threadIdx.x in 0..64          for bx in 0..n // 64 blockIdx.x:
//   P at C's i.o: ax0 threadIdx.x in 0..66        ==>      for tx in 0..66 threadIdx.x:
//                                                            P[tx] = ...;  sync;  if tx < 64: C[bx*64 + tx] = ...
//
// Where a stage's loops are products of a warp, threadIdx.x is its 32 lanes.
// Equal indices of all stages of a launch are one: it is as long as the longest loop, and the shorter ones have a
// guard. What a block shares is computed by its threads together: by those that the stage's own loops are bound to,
// else its loops are shared out among all.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "schedule/bounds.h"
#include "schedule/cluster_of.h"
#include "src/ir/walk.h"

namespace tw::schedule {

struct DeviceIndex {
  Annotation kind;
  ir::Var var;
  Extent extent;
};

// The leaves begin .. end - 1, whose iterations the threads of a block share; where there are none of them, one thread
// does what stands inside. kNone: nothing is shared out.
struct Band {
  int begin = kNone, end = kNone;
  bool holds(int position) const { return begin <= position && position < end; }
};

class Launches {
 public:
  Launches(const LoopNest&, const Placement&, const NestBounds&);

  // Of the launch that a stage stands in, as its loops stand; none on the host.
  const std::vector<DeviceIndex>& indices(int stage) const;
  // Of the threads along this index only 0 .. n - 1 compute the stage; empty: all that come to it.
  std::optional<Extent> limit(int stage, const DeviceIndex&) const;
  Band band(int stage) const;
  // Whether threads of one block may find different values there.
  bool differs(const ir::Expr&) const;
  // Whether a loop comes back to what stands inside the first `level` + 1 loops of the stage.
  bool repeats(int stage, int level) const;
  // The index of the roles that threads of the launch have: those below its extent compute, the one behind copies for
  // them. None where all do both.
  std::optional<DeviceIndex> role(int root) const;
  // Of the launch that a stage stands in; none where each block is by itself.
  const std::optional<ClusterOf>& cluster(int stage) const;
  // The launch of a stage at root, of its body over the loops of stages.
  ir::Stmt around(int root, const ir::Stmt& body) const;

 private:
  int guard_of(int reader, int stage, const DeviceIndex&) const;
  void add_indices(int root);
  int64_t lanes_of(int root) const;
  bool has_roles(int root) const;
  bool decides_itself(int stage, Annotation) const;
  bool meets_in(int stage) const;

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  std::vector<std::vector<DeviceIndex>> indices_;   // by root
  std::vector<std::optional<ClusterOf>> clusters_;  // by root
  ir::Substitution index_of_;                       // of the loops that are bound
  std::unordered_set<uint64_t> threads_;            // the variables whose values differ in a block
  std::unordered_set<uint64_t> virtual_;            // those of virtual threads
};

// The loops of a band as one that the threads share, around `body`, which is over their variables.
ir::Stmt cooperative(const StageNest&, const StageBounds&, const Band&, const ir::Bounds& ranges, const ir::Stmt& body);

}  // namespace tw::schedule
