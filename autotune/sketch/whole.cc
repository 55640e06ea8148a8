// Reductions to one element, or to very few: the terms are shared out, and each share is summed in vectors.
//
//   S += A[i, k] over i, k   ==>   parallel i.o: S.rf[i.o] = sum over i.i, k, in vectors
//                                  for i.o: S += S.rf[i.o]
#include <algorithm>

#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kFew = 4;      // elements
constexpr int64_t kMany = 16;    // terms that are worth sharing out
constexpr int64_t kShares = 16;  // what an axis must give

// The outermost axis that gives enough shares, or the longest.
const Axis& shared_axis(const Stage& stage) {
  const Axis* longest = &stage.sums[0];
  for (const Axis& axis : stage.sums) {
    if (axis.extent >= kShares) return axis;
    if (axis.extent > longest->extent) longest = &axis;
  }
  return *longest;
}

}  // namespace

std::optional<Group> match_whole(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (!stage.reduces() || !gives_parts(stage) || stage.elements > kFew || extents(stage.sums) < kMany)
    return std::nullopt;
  return Group{root, root, {root}};
}

void apply_whole(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const Axis& axis = shared_axis(stage);
  sketch.cfg.define_knob(stage.name + ".parts", up_to(axis.extent, {16, 4, 2, 64}));
  sketch.split_in(stage.name, axis.name, sketch.cfg.factor(stage.name + ".parts"));
  const std::string parts = rfactor(sketch, stage.name, axis.name + ".o", 0);
  const std::string share = data_loops(sketch.s, parts)[0], sum = parts + ".local";
  sketch.step(schedule::CacheWrite{parts, ir::Scope::kLocal});
  if (stage.operations >= kParallelWork) sketch.parallel(parts, share);
  const int64_t lanes = lanes_of(stage, sketch.target);
  const int64_t terms = &axis == &stage.sums.back() ? axis.extent / kShares : stage.sums.back().extent;
  sketch.cfg.define_knob(stage.name + ".width", sum_widths(std::max<int64_t>(terms, 1), lanes));
  std::vector<std::string> together;
  if (stage.elements > 1) together = data_loops(sketch.s, sum);
  sum_in_vectors(sketch, sum, {parts, share}, sketch.cfg.value(stage.name + ".width"), together);
}

}  // namespace tw::autotune::sketch
