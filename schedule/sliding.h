// Stages whose buffers outlive one iteration of the loop in which they are computed.
//
//   rolling   each iteration computes only what is new in the region, which moves along one dimension
//   double    each iteration computes the region of the next one; two buffers take turns
//   ring      on a device: each iteration begins to compute the region of a later one; slots take turns. Of a block
//   that
//             has several tiles the last iterations of one begin what the first ones of the next find
//
// A scan in a loop that goes along its times rolls of itself: an iteration continues from the states of the one before.
#pragma once

#include "schedule/bounds.h"
#include "src/ir/walk.h"

namespace tw::schedule {

enum class SlideKind : uint8_t { kNone, kRolling, kDouble, kRing };

// What a PipelineNote says of boxes that the device copies by itself, which are no stores.
inline constexpr ir::Arrival kByBoxes = ir::Arrival::kNow;

struct Slide {
  SlideKind kind = SlideKind::kNone;
  ir::Var loop;                             // of the stage in which it is computed
  ir::Expr trips;                           // how often that loop runs
  int dim = kNone;                          // rolling: the dimension along which the region moves,
  int64_t step = 0;                         // and how far in one iteration
  int64_t extent = 0;                       // of the region along it
  int64_t slots = 0;                        // double and ring: regions that are kept
  ir::Arrival arrival = ir::Arrival::kNow;  // ring: of what is stored
  bool boxes = false;                       // ring: the device copies it (box_copies.h)
  ir::Var tiles = {};                       // ring: the loop over a block's tiles, each of which has `trips` turns of
                                            // it; none: it begins anew
  ir::Expr turns = {};                      // ring: of the block

  // The number of the iteration among all that the ring has.
  ir::Expr turn() const { return !!tiles ? ir::Expr(tiles) * trips + ir::Expr(loop) : ir::Expr(loop); }
  // What the variables of the loops are in turn `of`.
  ir::Substitution in_turn(const ir::Expr& of) const;
};

// For each stage. The Diagnostic names the Step that asked for what the nest does not allow.
Result<std::vector<Slide>> infer_slides(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Step>&);

// Whether what the stage keeps may give way to other elements of it.
bool has_turning_buffer(const StageNest&);
bool has_turning_buffer(const LoopNest&, int stage);  // or the loop that it is computed in says so

// Whether the nest asks for any slide, so that bounds must be known to judge it.
bool has_slides(const LoopNest&);

}  // namespace tw::schedule
