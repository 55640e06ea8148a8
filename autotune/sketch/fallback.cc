// Any stage that is left: threads over its outer loops, vectors over its innermost one.
//
//   for i: for j: for k: C[i, j] ...     ==>     parallel i * ..: for j.o: for k: vectorized j.i
//
// Scans and extern stages stay as they are: their statements say how they run.
#include "autotune/sketch/lanes.h"
#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

std::optional<Group> match_anything(const Graph&, int root) { return Group{root, root, {root}}; }

void apply_anything(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  if (stage.kind == StageKind::kScan || stage.kind == StageKind::kExtern || stage.data.empty()) return;
  if (stage.data.back().extent == 0) return;
  const int64_t lanes = lanes_of(stage, sketch.target);
  const Axis& last = stage.data.back();
  std::vector<std::string> outer;
  for (size_t d = 0; d + 1 < stage.data.size(); ++d) outer.push_back(stage.data[d].name);

  std::vector<std::vector<int64_t>> sizes = {{0, 1, lanes}, {0, 1, 2 * lanes}, {0, 1, 4 * lanes}, {0, 16, lanes}};
  if (outer.empty()) sizes = {{0, 64, lanes}, {0, 16, 4 * lanes}, {0, 1024, lanes}};
  const std::string knob = stage.name + ".tile";
  sketch.cfg.define_split(knob, last.extent,
                          {.outputs = 3, .policy = SplitPolicy::kCandidate, .candidates = std::move(sizes)}, last.name);
  const std::vector<std::string> parts = sketch.cfg.apply_split(knob, sketch.s, stage.name, last.name);
  if (outer.empty()) outer.push_back(parts[0]);
  std::vector<std::string> order = outer;
  if (order.back() != parts[0]) order.push_back(parts[0]);
  order.push_back(parts[1]);
  for (const Axis& axis : stage.sums) order.push_back(axis.name);
  order.push_back(parts[2]);
  sketch.reorder(stage.name, order);
  sketch.step(schedule::Vectorize{stage.name, parts[2]});
  if (stage.operations >= kParallelWork) sketch.parallel(stage.name, sketch.fuse(stage.name, outer));
}

}  // namespace tw::autotune::sketch
