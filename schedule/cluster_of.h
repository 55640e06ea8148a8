// Blocks of a launch that are a cluster (primitives/cluster.cc), and what each brings of what all of them read.
#pragma once

#include <optional>
#include <vector>

#include "schedule/box_copies.h"
#include "schedule/sliding.h"

namespace tw::schedule {

struct ClusterOf {
  Annotation index;  // of the device
  int64_t blocks = 1;
  std::vector<ir::Var> loops;  // that are bound to it
};
// Of the launch at a root; none where each block is by itself.
std::optional<ClusterOf> cluster_of(const LoopNest&, const Placement&, const NestBounds&, int root);

// Along which dimension of its source a stage's box is parted among the blocks, and how much of it a part is; nothing
// where each block needs a box of its own, or where parts would begin where no box may.
struct PartOfBox {
  size_t dimension;
  int64_t extent;
};
std::optional<PartOfBox> part_of_box(const ClusterOf&, const LoopNest&, const NestBounds&, int stage,
                                     const BoxOfStage&);

// Whether the nest is one in which blocks can be a cluster: with rings of boxes, of which one is the same for all, and
// to which a block comes once.
Status check_clusters(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Slide>&,
                      const std::vector<Step>&);

}  // namespace tw::schedule
