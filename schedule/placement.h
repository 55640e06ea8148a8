// Where each stage is computed: after inlining, what every stage reads, and inside which loop of which stage it stands.
#pragma once

#include <vector>

#include "schedule/loop_nest.h"
#include "src/ir/warp_products.h"

namespace tw::schedule {

struct Read {
  int source;  // stage
  ir::Expr load;
  std::vector<ir::Expr>
      holds;  // none of these is negative where the definition uses what it reads; empty: it always does
};

// Threads that see what each of them computes: none but itself, those of a warp along threadIdx.x, those of a block.
enum class Team : uint8_t { kNone, kWarp, kBlock };

struct Placement {
  // Of each stage, with inlined stages substituted; empty for placeholders and stages that nobody needs.
  std::vector<std::vector<ir::Expr>> bodies;
  std::vector<std::vector<Read>> reads;   // of each live stage
  std::vector<std::vector<int>> readers;  // live stages that read each stage
  std::vector<int> parent;                // the stage in whose loops it is computed; kNone at root
  std::vector<int> level;                 // and the position of that loop among its parent's leaves
  std::vector<int> scan;                  // whose state, at earlier times, the stage depends on; kNone for most
  std::vector<int> launch;                // the stage at root in whose launch it is computed; kNone on the host
  std::vector<Scope> scope;               // of its memory
  // Whose threads compute it for each other, so that all of them must come to it.
  std::vector<Team> together;
  bool live(int stage) const { return !bodies[stage].empty(); }
};

// `wanted`: stages that are needed besides the outputs (intermediates in the argument list). The Diagnostic names the
// Step at fault when a stage would not be computed before, or not around, everything that reads it.
Result<Placement> place(const LoopNest&, const std::vector<Step>& steps, const std::vector<int>& wanted = {});

// Launches, scopes and what is computed together, of a nest whose other places are known. A scope that no Step gave is
// that of the place: global at root, shared inside of blocks, local inside of threads, and everywhere on the host.
void place_in_launches(const LoopNest&, Placement&);

// Whether the nest has launches.
bool has_launches(const LoopNest&);
// Whether a loop of the stage's reduction is bound to threads.
bool sums_across_threads(const StageNest&);
// The product of a warp that the stage's innermost loops are; null: they are none.
const ir::WarpProduct* warp_product_of(const StageNest&);
// Whether threads or blocks of their own compute the stage's parts.
bool binds(const StageNest&);

// Whether the leaf at `position` of a host stands still for what is computed inside the loop at `level`. A block sees
// its own part only, wherever the loop stands; a thread what is its own, of what is computed together that of all.
bool stands_still(const StageNest& host, int position, int level, Team together);
// Whether the loop runs through threads of the team.
bool runs_through(Team, Annotation);

// The loop at which a stage is computed: of one that was split or fused afterwards the innermost loop that came of it.
AxisId attach_leaf(const StageNest& host, AxisId axis);

// Whether it is a tensor with zeros around it, and what they are multiplied by adds nothing to sums of a type: te says
// so (te::Compute::padding), or there is no other product of 0.
bool pads_with_zeros(const StageNest&, ir::Type of_sums);

// Whether a sum has the terms in which the zeros of an inlined padding are factors.
enum class Padding : uint8_t { kMultiplied, kLeftOut };

// The bodies of all computed stages, with the definitions of inlined ones in place of their reads. Of those that are
// inlined none, but where they are wanted besides.
std::vector<std::vector<ir::Expr>> inline_bodies(const LoopNest&, const std::vector<int>& wanted = {},
                                                 Padding = Padding::kMultiplied);

// The scan whose state, at earlier times, the stage depends on: it is computed inside of its time loop; else kNone.
int scan_around(const LoopNest&, int stage);

// A refusal that Step number `step` is to blame for.
Diagnostic blame(Diagnostic, const std::vector<Step>& steps, int step);

}  // namespace tw::schedule
