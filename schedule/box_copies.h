// Stages in shared memory that are boxes of a tensor, as a device copies them by itself (src/ir/async_copies.h).
//
//   P[i, j] = A[i, j + 1], over 32 x 64 at k     ==>     tma.load of A's 32 x 64 from (0, k * 64 + 1) on
//
// A stage in panels (swizzling.h) has a box for each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/storage.h"
#include "schedule/swizzling.h"
#include "src/ir/async_copies.h"

namespace tw::schedule {

struct BoxOfStage {
  int source = kNone;
  ir::Expr load;             // of the source, as the stage's definition has it
  std::vector<AxisId> axes;  // of each dimension of the source, which of the stage's runs along it; kNone: none
  Swizzling swizzling;
};

// Why the stage is none, and what is done about it; nothing where it is one.
struct NoBox {
  std::string why, way_out;
};
std::optional<NoBox> no_box(const LoopNest&, const Placement&, const NestBounds&, int stage);
// Whether it is one whatever the sizes are.
bool is_always_box(const LoopNest&, const Placement&, const NestBounds&, int stage);
BoxOfStage box_of(const LoopNest&, const Placement&, const NestBounds&, int stage);  // of one that is

// Of slots and what is kept in one, so that each begins where a box may; empty where they do when they lie close.
std::vector<ir::Expr> box_strides(const Swizzling&, const std::vector<Extent>& kept, ir::Type element);

struct ClusterOf;  // cluster_of.h

// The boxes of the stages, all slots of rings, that come with turn `of`, as one thread begins it. Where blocks are a
// cluster, it brings its part of those that all read to all.
ir::Stmt begin_turn(const LoopNest&, const Placement&, const NestBounds&, const Storage&,
                    const std::optional<ClusterOf>&, const std::vector<int>& stages, const ir::Buffer& full,
                    const ir::Expr& of);

}  // namespace tw::schedule
