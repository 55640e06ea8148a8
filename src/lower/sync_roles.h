// Threads of a block in two roles (src/ir/async_copies.h): on one side of an `if` a thread copies boxes, turn after
// turn of a ring of barriers, and on the other all read them and say by another ring when they have.
//
//   who copies   waits until turn t - slots has been read, then begins t; its boxes go to slot t % slots
//   who reads    waits for t, touches slot t % slots, and arrives at t when it is done, products under way included
//
// Both take the turns 0, 1, 2, .. to the same last one. Proved of each side by itself: of a loop the first iteration is
// followed, and one that stands for every other, which finds what the one before it leaves, some turns on. What is not
// seen is reported.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/async_copies.h"
#include "src/ir/interval.h"
#include "src/lower/sync_place.h"

namespace tw::lower {

// What the check of a launch knows where the `if` stands.
struct RolesSeen {
  const std::unordered_map<uint64_t, ir::Buffer>& declared;
  const std::unordered_map<uint64_t, int64_t>& arrivals;  // of rings that are made; 0: bytes are counted
  const LaunchIndices& indices;
  const std::unordered_set<uint64_t>& changing;
  ir::Bounds bounds;
  Place place;
};
struct RoleFault {
  std::string buffer, why;
  ir::Stmt at;
  bool certain = false;  // an iteration is known in which it is so
};

// What a turn of a block gets by it: of what comes to all blocks of a cluster, a part from each.
int64_t bytes_in_block(const ir::AsyncCall& load, const LaunchIndices&);
// Whether both sides take turns, and meet at no barrier of the block.
bool parts_roles(const ir::Stmt&);
// The rings and what they bring, which nobody else may touch.
std::unordered_set<uint64_t> buffers_of_roles(const ir::Stmt&);
std::vector<RoleFault> role_faults(const ir::Stmt&, const RolesSeen&);

}  // namespace tw::lower
