// What follows from a schedule as a whole: the rules of the nest, and what each stage is computed over. Whoever judges
// a schedule and whoever makes loops of it ask the same, and each part is inferred once.
#pragma once

#include <optional>
#include <vector>

#include "schedule/match_intrin.h"

namespace tw::schedule {

class Analysis {
 public:
  // The nest and its Steps must outlive it.
  Analysis(const LoopNest&, const std::vector<Step>&, Placement);

  // What may stand inside a vectorized loop, tails that visit values again, how much code unrolled loops make, pads,
  // predicates, prefetches, buffers that turn, layouts, intrinsics: names the Step at fault and its line. `given`: the
  // stages that are arguments, and their buffers, where there are any yet. Bounds are inferred where a rule needs them.
  Status judge(const std::vector<int>& given = {}, const Arguments& arguments = {});

  const Placement& placed() const { return placed_; }
  const NestBounds& bounds();
  // Of each stage; after judge.
  const std::vector<Slide>& slides() const { return slides_; }
  const IndexMaps& layouts() const { return layouts_; }
  const std::vector<BoundIntrin>& intrins() const { return intrins_; }

 private:
  Status check_iterations(int stage);
  Status check_unrolling();

  const LoopNest& nest_;
  const std::vector<Step>& steps_;
  const Placement placed_;
  std::optional<NestBounds> bounds_;
  std::vector<Slide> slides_;
  IndexMaps layouts_;
  std::vector<BoundIntrin> intrins_;
};

}  // namespace tw::schedule
