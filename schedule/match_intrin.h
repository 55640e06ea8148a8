// Whether the loops that Tensorize replaces compute what the intrinsic computes, and its statements over their values.
//
//   C[i, jo*16 + ji] += A[i, ko*4 + ki] * B[jo, ko, ji, ki]   over ji, ki
//   c[j]             += a[k]            * b[j, k]             over j in 0..16, k in 0..4
//
//   ==>  a[x] is A[i, ko*4 + x],  b[x, y] is B[jo, ko, x, y],  c[x] is C[i, jo*16 + x]
//
// The loops pair up in their order, data with data and reductions with reductions, those of one iteration left out.
// Where they pair up, every subscript has to be the intrinsic's, times a number, plus what stands still in them.
#pragma once

#include "schedule/storage.h"
#include "schedule/tile_checks.h"
#include "src/ir/group_products.h"

namespace tw::schedule {

// Of a product of a warp: c[m, n] += left * right, loads of the stage's body, over the loops m, n and k.
struct WarpOperands {
  ir::Expr left, right;
  ir::Var m, n, k;
  ir::GroupOperand left_lies = {}, right_lies = {};  // of four warps' products
};

struct BoundIntrin {
  int level = kNone;      // of the first loop that is replaced; kNone: the stage is not tensorized
  te::IntrinBodies does;  // over the loops outside of it; buffers mean whole tensors
  std::vector<TileStride> strides = {};
  std::vector<TileOffset> offsets = {};
  ir::Expr whole_data = {}, whole_reduction = {};  // that the tile lies inside of the axes; empty: it always does
  const ir::WarpProduct* product = nullptr;        // has no statements: schedule/warp_tile.h makes them
  WarpOperands operands = {};
};

// Of each stage. Where there are no arguments yet, stages that are computed inside others count as scratch.
Result<std::vector<BoundIntrin>> match_intrins(const LoopNest&, const Placement&, const NestBounds&,
                                               const std::vector<Step>& steps, const Arguments& = {});

bool has_intrins(const LoopNest&);

}  // namespace tw::schedule
