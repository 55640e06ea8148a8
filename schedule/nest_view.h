// A stage's loops as they will run, and what they touch: for explanations and for the tuner's features.
//
// Extents of an attached stage are those of the region that its consumer needs: as bounds inference derives them
// (derive_extents, ranges_inside), but from affine subscripts alone and with kAssumedExtent in the place of variables.
// In launches those that are read otherwise, as channels in groups are, are taken from there.
// The oracle "extents" of tests/diff holds the two together. Bodies have the definitions of inlined stages in them.
#pragma once

#include <vector>

#include "schedule/loop_nest.h"

namespace tw::schedule {

inline constexpr int64_t kAssumedExtent = 1024;  // where extents are symbolic

struct LoopView {
  int64_t extent = 1;
  std::vector<int> roots;  // the root axes it walks along: one, or several where axes were fused
  int64_t step = 1;        // how far along a single root axis one iteration goes
  bool reduction = false;
  Annotation annotation = Annotation::kNone;
  std::vector<LoopView> parts = {};  // of a fused loop: those that it runs through, outermost first
};

// How far each root axis ranges while the loops from `depth` inwards run, at most so far as `extents`.
std::vector<int64_t> ranges_of(const std::vector<LoopView>& loops, const std::vector<int64_t>& extents, size_t depth);

// Subscripts as sums over root axes of the stage; unknown where they are not affine.
struct AccessView {
  uint64_t buffer = 0;
  int element_bytes = 4;
  bool packed = false;                             // two elements a byte
  std::vector<std::vector<int64_t>> coefficients;  // per dimension of the memory, per root axis
  std::vector<int64_t> divisors = {};              // per dimension: the sum is divided by it; empty: by 1
  std::vector<int64_t> offsets;                    // per dimension
  std::vector<int64_t> shape;
  bool affine = true;
  std::vector<ir::Expr> at = {};   // in a launch, where it is not affine: the subscripts, over
  std::vector<ir::Var> axes = {};  // the root axes
  bool store = false;
  bool scattered = false;    // by what is read: neighbours lie anywhere
  bool converted = false;    // on its way to a wider type, whatever else is done with it
  bool kept_wide = false;    // in copies of the program's own (src/lower/wide_copies.h)
  double scratch_bytes = 0;  // of an intermediate: all that is kept of it where it is computed
};

struct StageView {
  int stage = 0;
  double enclosing = 1;          // how often the loops below run: iterations of the consumers' loops around
  int64_t parallel_around = 1;   // of these, parallel ones
  std::vector<LoopView> loops;   // outermost first
  std::vector<LoopView> around;  // the consumers' loops around those, as they move the region along this stage's axes
  std::vector<int64_t> root_extents, domain;  // of the root axes: in the region that is computed; of the whole stage
  std::vector<AccessView> accesses;
  double operations = 0;  // arithmetic nodes of one element's body
  double casts = 0;       // of these, conversions
  double fused = 0;       // of these, multiplications that become part of a fused multiply-add
  double conditions = 0;  // of these, about indices: most leave the loops when these are partitioned
  double visited = 1;     // share of a reduction's terms that loops run to: those that `where=` leaves
  double certain = 1;     // share of them that counts for certain; 0 where that is not known exactly
  double waste = 1;       // visited / needed, from splits that do not divide
  int element_bytes = 4;
  double trips() const;
  std::vector<int64_t> ranges(size_t depth) const { return ranges_of(loops, root_extents, depth); }
};

// One view per stage that has loops of its own (neither inlined nor a placeholder), producers first.
std::vector<StageView> view_stages(const LoopNest&);

}  // namespace tw::schedule
