// A stage whose innermost loops are products of a warp.
//
//   C: ko, jw, i in 0..16, j in 0..8, ki in 0..16     for jw: C.part[jw, 0..4] = 0
//                                                     for ko:
//                                                       for jw:
//                                              ==>        a[..] = A[i, ko*16 + ki] of lane tx
//                                                         b[..] = B[ko*16 + ki, jw*8 + j] of lane tx
//                                                         mma(C.part[jw], a, b)
//                                                     for jw: C[i, jw*8 + j] of lane tx = C.part[jw, ..]
//
// Each lane keeps its sums from the first loop of the reduction to the last.
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
};

// Of a stage whose outermost reduction loop is at `outermost`; the results go to `to`.
WarpTile warp_tile(const StageNest&, const StageBounds&, int outermost, const BoundIntrin&,
                   const std::vector<DeviceIndex>&, const ir::Buffer& to);

// The product, of operands that are loads over the loops.
ir::Stmt multiplied(const WarpTile&, const ir::Bounds&, const ir::Expr& left, const ir::Expr& right);
// The lane's sums from what they begin with.
ir::Stmt begun(const WarpTile&, const ir::Expr& identity);
// What becomes of each sum, which is stored `to` subscripts over the loops.
ir::Stmt finished(const WarpTile&, const ir::Bounds&, const std::vector<ir::Expr>& to,
                  const std::function<ir::Stmt(const ir::Expr& sum)>& store);

}  // namespace tw::schedule
