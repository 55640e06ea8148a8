// A reduction of which each thread has a part.
//
//   B: i blockIdx.x, k.o, k.i threadIdx.x in 0..48       B.part[0] = 0
//                                                        for k.o: B.part[0] = B.part[0] + A[bx, k.o*48 + tx]
//                                                  ==>   B.parts[tx] = B.part[0];  sync
//                                                        if tx < 6: B.parts[tx] = the 8 from tx on, 6 apart
//                                                        sync
//                                                        if tx < 3: B.parts[tx] = B.parts[tx] + B.parts[tx + 3]
//                                                        sync
//                                                        ... (te/lane_joins.h: any number of threads)
//                                                        if tx < 1: B[bx] = B.parts[0]
//
// The joins are in one order, whatever runs when: where three of them halve what is left, a thread does all three by
// itself, in registers, as threads that meet wait longer than eight parts take to be read. And where threadIdx.x counts
// whole warps, what is left of at most 32 lanes is joined by exchanges, without a barrier; of 32 threads all is:
//
//   k.i threadIdx.x in 0..32                             shfl(B.part.from, B.part[0], (tx + 16) % 32)
//                                                  ==>   B.part[0] = B.part[0] + B.part.from[0]
//                                                        ... 8, 4, 2, 1; of lane 0 then for all: shfl(.., 0)
#pragma once

#include "schedule/launch.h"

namespace tw::schedule {

struct ThreadSums {
  std::vector<ir::Buffer> own;    // a thread's part, one for each output; empty: threads share no sum
  std::vector<ir::Expr> at;       // over the data loops inside the reduction
  std::vector<ir::Buffer> parts;  // of all threads of the block
  std::vector<ir::Expr> slot;     // over all thread indices
  std::vector<int> summed;        // which of these the sum goes along,
  std::vector<int64_t> terms;     // and how many parts there are
  int lanes = kNone;              // the index among all that counts whole warps
  bool within_warp = false;       // no other thread has a part
  bool shares() const { return !own.empty(); }
};

// Of a stage whose outermost reduction loop is at `outermost`; the results themselves go to `to`.
ThreadSums thread_sums(const StageNest&, const StageBounds&, int outermost, const std::vector<DeviceIndex>&,
                       const std::vector<ir::Buffer>& to);

// Joins the threads' parts, those of several warps in the memory of the block. `again`: it has been used before.
// `for_first`: only the first threads read the sum.
ir::Stmt joined(const ThreadSums&, const ir::Reduce&, bool again, bool for_first);
// The sum, for the first threads or for all.
std::vector<ir::Expr> sums(const ThreadSums&, bool for_first);
// Whether a thread is the first along all indices that the sum goes along.
ir::Expr is_first(const ThreadSums&);

}  // namespace tw::schedule
