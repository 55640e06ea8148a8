// Under which conditions a stage's elements are computed, and where among its loops each can be tested.
//
//   C in threads, j split unevenly:   if ty < 4:                        // its threads
//                                       for j.o, j.i:
//                                         if j.o*f + j.i < n: ...       // inside the innermost loop that it names
#pragma once

#include "schedule/partial_results.h"
#include "schedule/storage.h"
#include "schedule/thread_sums.h"
#include "schedule/warp_tile.h"

namespace tw::schedule {

struct Condition {
  ir::Expr holds;
  int level;  // how many loops of the stage are open where it can be tested
  bool data;  // of the data axes: the init part has to obey it too
};

// A stage while its loops are made.
struct Emission {
  int id;
  const StageNest& nest;
  const StageBounds& bounds;
  std::vector<Condition> conditions;
  int first_reduction;  // position among the leaves; their number when there is none
  bool in_vector;
  ir::Expr defined;      // of a padded stage: where its definition may be computed; empty: everywhere
  ir::Expr stored = {};  // of whole tiles: which of a tile's elements there are; empty: all
  PartialResults partial = {};
  ThreadSums sums = {};
  WarpTile warp = {};
  Band band = {};
};

// a && b, of which either may be empty.
ir::Expr both(const ir::Expr& a, const ir::Expr& b);

// Those of splits and edges, of what this iteration needs, of states, slides, threads and of the store predicate.
// Conditions that lanes of partial results are selected by go to these. `innermost`: the level of the innermost loop in
// which another stage is computed, or kNone.
void find_conditions(const LoopNest&, const Placement&, const NestBounds&, const Slide&, const Launches&, int innermost,
                     Emission&);

}  // namespace tw::schedule
