// Which of a launch's threads copy and which compute, where they have roles (primitives/roles.cc).
#pragma once

#include "schedule/sliding.h"

namespace tw::schedule {

inline constexpr int64_t kThreadsOfRole = 128;  // four warps, which give and take registers together

// The stage of the launch whose pipeline is filled by threads of their own; kNone: there is none.
int stage_with_roles(const LoopNest&, const Placement&, int root);

// A loop around a ring's own because of which a block comes to the ring again; nothing where it comes once, or once for
// each tile, of a known number of iterations.
struct LoopOfStage {
  int stage;
  AxisId axis;
};
std::optional<LoopOfStage> loop_that_repeats(const LoopNest&, const Placement&, const NestBounds&,
                                             const std::vector<Slide>&, int ring);

// Of so many times 128 threads that compute. Registers stay as they are where those who compute would get no more.
struct RoleRegisters {
  int64_t producer = 0, consumer = 0;
  bool move = false;
};
RoleRegisters registers_of(const RolesNote&, int64_t consumers);

// Whether the nest is one in which they can have roles: one ring, of boxes, that a launch comes to once and that
// products of four warps read, and nothing else for which all threads meet.
Status check_roles(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Slide>&,
                   const std::vector<Step>&);

}  // namespace tw::schedule
