// Bounds inference: how much of each stage is computed where it stands, and the values of its axes in terms of loop
// variables.
//
//   C at root:          for io, for ii: C[io*4 + ii] = P[io*4 + ii] + P[io*4 + ii + 1]
//   P at C's loop io:   C reads P over io*4 .. io*4 + 4, so P has lo = io*4 and runs over 0..5 there
//
// The contract: every element is written at least once, always with the same value, before any read of it. A region may
// be larger than what is read, never smaller; what of it lies outside of the stage's own domain is left out by guards.
#pragma once

#include <optional>
#include <vector>

#include "schedule/placement.h"
#include "src/ir/interval.h"

namespace tw::schedule {

// What of a dimension of the region this iteration reads, in terms of the loops outside of the stage; empty: as far as
// the region goes.
struct Needed {
  ir::Expr from, to;
};

// A dimension that is computed whole since a subscript has no bound.
struct Unbounded {
  AxisId axis = kNone;
  int reader = kNone;
  ir::Expr subscript;  // as the reader's definition has it
};

// Where the terms of a sum end, of which a filled stage keeps one factor: elements from there on are zeros.
struct TermsEnd {
  AxisId axis;  // of the stage
  ir::Expr end;
};

struct Region {
  std::vector<ir::Expr> lo;  // per data axis
  std::vector<Extent> extent;
  std::vector<Needed> needed;
  std::vector<char> inside;  // the one element there is read whenever it is computed, so it is one of the stage
  std::vector<Unbounded> unbounded;
  bool filled = false;               // whole tiles of a product, with zeros where the stage has no element: filled.h
  std::vector<TermsEnd> terms = {};  // where its reader's end before the stage's elements do
};

struct StageBounds {
  std::vector<ir::Expr> lo;    // per data axis: where the region begins, in terms of the loops outside of the stage
  std::vector<Extent> extent;  // per axis, over the region
  std::vector<Needed> needed;  // per data axis; empty: all that the region holds
  std::vector<char> inside;    // per data axis: as Region has it; empty: nothing is known
  std::vector<Unbounded> unbounded;
  bool filled = false;          // as Region has it
  std::vector<TermsEnd> terms;  // the same
  std::vector<ir::Var> loop;    // per axis: the variable of its loop; empty unless a leaf of an extent other than 1
  std::vector<ir::Expr> value;  // per axis: its value in terms of loop variables; of root axes counted from lo
  std::vector<ir::Expr> index;  // per root axis: its value in the stage's definition
  std::vector<ir::Expr> facts;  // of the loops in which the stage's body stands, against extents that are no numbers
};

struct NestBounds {
  std::vector<StageBounds> stages;  // of live stages
  ir::Bounds ranges;                // of all loop variables and of the variables of extents
  ir::Bounds numbers;               // the same without ends that stand for "as large as extents may be"
};

NestBounds infer_bounds(const LoopNest&, const Placement&);

// The extents of all axes, from those of the root axes, through splits and fuses in the order in which they were made.
void derive_extents(const StageNest&, StageBounds&);

// Outer and inner extent of n iterations in two. Parts that would be empty are left out where n is known.
std::pair<Extent, Extent> split_extents(const Extent& n, const SplitRelation&);

// Whether this split moves its last part inwards over these extents: `min(outer * f, n - f) + inner` instead of a
// guard.
bool is_shifted(const StageNest&, const StageBounds&, const SplitRelation&);
bool is_uneven(const StageBounds&, const SplitRelation&);

// Whether the read is, in this dimension, of what stands where its reader writes.
bool is_in_place(const StageNest& reader, const Read&, AxisId);
// Whether the updates of a scan read nothing else.
bool stays_in_place(const LoopNest&, const Placement&, int scan, AxisId);

// What must hold along a data axis so that what the loops compute lies inside the stage; nothing where it is padded
// there, or filled, or the region is the stage itself.
std::vector<ir::Expr> edges(const StageNest&, const StageBounds&, AxisId axis);

// How much of first..last, both in numbers, is one of the elements 0..whole: what else a reader's subscripts say
// belongs to its padding. Empty: nothing is.
struct Part {
  int64_t from = 0, count = 0;
};
std::optional<Part> part_inside(int64_t first, int64_t last, int64_t whole);

// The required region of an attached stage, from its readers' bounds; comes in as the whole stage.
void infer_region(const LoopNest&, const Placement&, const NestBounds&, int stage, Region&);

}  // namespace tw::schedule
