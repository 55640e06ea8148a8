// Loops whose iterations find in shared memory what earlier ones have begun to compute: rings of slots.
//
//   for x in 0..n:         for s in 0..slots - 1: { if s < n: part(s) later;  commit }
//     part(x)              for x in 0..n:
//     sync         ==>       wait slots - 2;  sync
//     rest(x)                if x + slots - 1 < n: part(x + slots - 1) later
//     sync                   commit
//                            rest(x)
//
// RingPart x is the group before the last slots - 2 when iteration x waits: one group is committed for each iteration,
// whether or not there is a part for it. Behind the barrier all have read the slot of iteration x - 1, which is the one
// that is filled. Where the device copies boxes each part is a turn of barriers (src/ir/async_copies.h), which all wait
// for in the place of groups. Where some threads copy for the others, these do not meet: whose slot is filled again has
// said that it is read.
#pragma once

#include <functional>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::schedule {

struct Ring {
  int64_t slots = 0;
  ir::Expr trips;      // of the loop; where it runs on over the tiles of a block, of all of them
  bool later = false;  // some of it arrives later; else nothing is waited for but at barriers
  ir::Buffer full;     // the barriers of what the device copies, if it does: iteration x is their turn x
  ir::Buffer free;     // where threads of a role copy, those of its readers, so many: they arrive at turn x behind it
  int64_t readers = 0;
  bool in_cluster = false;  // whether other blocks fill its slots too: then all meet
  ir::Stmt fence;           // of what threads store, for who reads it past them; or nothing
};
// What an iteration computes for the ring.
using RingPart = std::function<ir::Stmt(const ir::Expr& iteration)>;

// Around the loop and what comes before it: the ring's barriers. `again`: the loop is come to again.
ir::Stmt with_barriers(const Ring&, const ir::Stmt& all, bool again);
// By one thread of those that meet.
ir::Stmt by_one(const ir::Stmt&);
// Of a role: behind what an iteration reads; and who copies, all iterations one after the other.
ir::Stmt say_read(const Ring&, const ir::Expr& turn);
ir::Stmt filled(const Ring&, const RingPart&);
// Before the loop. `again`: somebody may still read what was there before.
ir::Stmt first_parts(const Ring&, const RingPart&, bool again, const ir::Bounds&);
// What an iteration does first where the device copies boxes.
ir::Stmt wait_for_turn(const Ring&, const ir::Expr& turn);
ir::Stmt ring_iteration(const Ring&, const RingPart&, const ir::Expr& turn, const ir::Stmt& rest);
// What of it follows a rest that waits for the device to be done with the part of the iteration before.
ir::Stmt iteration_behind(const Ring&, const RingPart&, const ir::Expr& turn);

// The statement with what it stores to these buffers arriving so.
ir::Stmt arriving(const ir::Stmt&, const std::vector<ir::Buffer>&, ir::Arrival);

}  // namespace tw::schedule
