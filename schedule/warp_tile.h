// A stage whose innermost loops are products of a warp.
//
//   C: ko, jw, i in 0..16, j in 0..8, ki in 0..16     for jw: C.part[jw, 0..4] = 0
//                                                     for ko:
//                                              ==>      a[..] = A[i, ko*16 + ki] of lane tx
//                                                       for jw: b[jw, ..] = B[ko*16 + ki, jw*8 + j] of lane tx
//                                                       for jw: mma(C.part[jw], a, b[jw])
//                                                     for jw: C[i, jw*8 + j] of lane tx = C.part[jw, ..]
//
// Each lane keeps its sums from the first loop of the reduction to the last, and inside of the last one the fragments
// of all products that need them. What lies in shared memory in rows of 16 bytes comes by ldmatrix.
//
// Products of four warps, whose 128 threads are the lanes, read shared memory themselves: there are no fragments of
// operands, and all products inside of what else is computed are one batch.
//
//   ko, km, i in 0..64, j in 0..128, ki in 0..16     ==>     for ko: fence
//                                                                   for km: wgmma(C.part, A[.., km*16], B[.., km*16])
//                                                                   commit, wait
#pragma once

#include <functional>

#include "schedule/launch.h"
#include "schedule/match_intrin.h"

namespace tw::schedule {

struct WarpTile {
  const ir::WarpProduct* product = nullptr;  // null: the stage is none
  ir::Expr lane;
  WarpOperands loops;        // that the product stands for
  ir::Buffer sums;           // of a lane
  std::vector<ir::Expr> at;  // over the data loops inside the reduction
  int level = kNone;         // of the first of those inside its last loop, around which all are together
  int batch = kNone;         // of four warps' products, of the first loop around nothing else
  struct Loop {
    ir::Var var;
    ir::Expr extent;
  };
  std::vector<Loop> inner;  // from there on
};

// Of a stage whose outermost reduction loop is at `outermost`; the results go to `to`. Inside the loops before
// `innermost` something else is computed.
WarpTile warp_tile(const StageNest&, const StageBounds&, int outermost, const BoundIntrin&,
                   const std::vector<DeviceIndex>&, const ir::Buffer& to, int innermost);

// The products of all inner loops, of operands that are loads over the loops; of four warps' products as if they were
// not swizzled.
ir::Stmt multiplied(const WarpTile&, const ir::Bounds&, const ir::Expr& left, const ir::Expr& right);
// The same of all loops of a batch: what stands around products of four warps.
ir::Stmt as_batch(const ir::Stmt& products, int64_t under_way);
ir::Stmt wait_for_batches(int64_t under_way);  // for all but so many
// The lane's sums from what they begin with.
ir::Stmt begun(const WarpTile&, const ir::Expr& identity);
// What becomes of each sum, which is stored `to` subscripts over the loops, where a condition on these holds; empty: of
// all.
ir::Stmt finished(const WarpTile&, const ir::Bounds&, const std::vector<ir::Expr>& to, const ir::Expr& where,
                  const std::function<ir::Stmt(const ir::Expr& sum)>& store);

}  // namespace tw::schedule
