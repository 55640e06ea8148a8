// Sums of short runs that lie side by side, again and again: the channels of a group, which have pixels around them.
//
//   S[n, g] += A[n, y, x, g*10 + c]   ==>   parallel y.o*n: for y.i, x: for g: vectorized c: S.rf[y.o, n, g] += A[..]
//                                           for n: for y.o: vectorized g: S[n, g] += S.rf[y.o, n, g]
//
// A run is one vector, whatever its length, and the sums of all runs stay in the nearest cache: memory is read as it
// lies. One group after the other would read each cache line once for every group that has a part of it.
#include <algorithm>

#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kShortest = 16;     // bytes, of which vectors hold several runs
constexpr int64_t kRunBytes = 256;    // of longer ones, few share a line
constexpr int64_t kSumBytes = 16384;  // that stay in the L1
constexpr int64_t kLeast = 4;         // runs side by side
constexpr int64_t kTerms = 64;        // that are worth sharing out, each a run

const Axis& shared_axis(const Stage& stage) {
  return *std::max_element(stage.sums.begin(), stage.sums.end() - 1,
                           [](const Axis& a, const Axis& b) { return a.extent < b.extent; });
}

}  // namespace

std::optional<Group> match_short_runs(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kReduction || !gives_parts(stage) || stage.bodies.size() != 1 || stage.gathers ||
      stage.type.is_packed() || stage.sums.size() < 2 || stage.elements < 1 || stage.data.empty())
    return std::nullopt;
  const Access* read = main_read(stage);
  const Axis &runs = stage.data.back(), &run = stage.sums.back();
  if (!read || run.extent < 2 || stride_along(*read, run) != 1 || stride_along(*read, runs) != run.extent)
    return std::nullopt;
  const int64_t bytes = run.extent * stage.type.bytes();
  if (bytes <= kShortest || bytes > kRunBytes || runs.extent < kLeast || runs.extent * bytes > kSumBytes ||
      extents(stage.sums) / run.extent < kTerms)
    return std::nullopt;
  return Group{root, root, {root}};
}

void apply_short_runs(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const Axis& axis = shared_axis(stage);
  sketch.cfg.define_knob(stage.name + ".parts", up_to(axis.extent, {4, 1, 2, 8, 16}));
  sketch.step(schedule::Split{stage.name, axis.name, {}, sketch.cfg.factor(stage.name + ".parts"), ir::Tail::kAuto});
  const std::string parts = rfactor(sketch, stage.name, axis.name + ".o", 0);
  const std::string sum = sketch.cache_write(parts);

  std::vector<std::string> outer = data_loops(sketch.s, parts);
  const std::string runs = outer.back();
  outer.pop_back();
  const std::string around = sketch.fuse(parts, outer);
  if (stage.operations >= kParallelWork) sketch.parallel(parts, around);
  sketch.step(schedule::ComputeAt{sum, parts, around});
  std::vector<std::string> order = data_loops(sketch.s, sum);
  order.pop_back();
  for (const std::string& loop : sum_loops(sketch.s, sum)) order.push_back(loop);
  order.insert(order.end() - 1, stage.data.back().name);
  sketch.reorder(sum, order);
  sketch.step(schedule::Vectorize{sum, order.back()});

  const int64_t lanes = lanes_of(stage, sketch.target);
  sketch.step(schedule::Split{
      stage.name, runs, schedule::Factor(std::min(stage.data.back().extent, 4 * lanes)), {}, ir::Tail::kAuto});
  order.clear();
  for (size_t d = 0; d + 1 < stage.data.size(); ++d) order.push_back(stage.data[d].name);
  order.push_back(runs + ".o");
  for (const std::string& loop : sum_loops(sketch.s, stage.name)) order.push_back(loop);
  order.push_back(runs + ".i");
  sketch.reorder(stage.name, order);
  sketch.step(schedule::Vectorize{stage.name, runs + ".i"});
}

}  // namespace tw::autotune::sketch
