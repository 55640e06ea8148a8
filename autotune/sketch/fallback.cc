// Any stage that is left: threads over its outer loops, vectors over its innermost one.
//
//   for i: for j: for k: C[i, j] ...     ==>     parallel i * ..: for j.o: for k: vectorized j.i
//
// A scan computes what updates its states where it stores them, where nothing else reads it:
//
//   for t: for i: U[i] = f(S[t-1])               for t: for i.o: vectorized i.i: S[t, i] = f(S[t-1])
//          for i: S[t, i] = U[i]           ==>
//
// Extern stages stay as they are: their statements say how they run.
#include <algorithm>

#include "autotune/sketch/lanes.h"
#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

namespace {

// Stages whose elements the scan stores as its states, each once.
std::vector<int> updates_of(const Graph& graph, int scan) {
  std::vector<int> updates;
  for (int i = 0; i < static_cast<int>(graph.stages.size()); ++i) {
    const Stage& stage = graph.at(i);
    const bool updates_states = stage.scan == scan && stage.kind == StageKind::kPointwise && !stage.inlined;
    if (updates_states && !stage.output && stage.bodies.size() == 1 && stage.readers == std::vector<int>{scan})
      updates.push_back(i);
  }
  return updates;
}

}  // namespace

std::optional<Group> match_anything(const Graph& graph, int root) {
  Group group{root, root, {}};
  const Stage& stage = graph.at(root);
  if (stage.kind == StageKind::kScan && stage.same_shapes && stage.data.size() > 1)
    group.members = updates_of(graph, root);
  group.members.push_back(root);
  return group;
}

void apply_anything(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const bool scans = stage.kind == StageKind::kScan;
  if ((scans && group.members.size() == 1) || stage.kind == StageKind::kExtern || stage.data.empty()) return;
  if (stage.data.back().extent == 0) return;
  double operations = stage.operations;
  for (const int member : group.members) {
    if (member == group.root) continue;
    sketch.step(schedule::ComputeInline{sketch.graph.at(member).name});
    operations += sketch.graph.at(member).operations / static_cast<double>(std::max<int64_t>(stage.data[0].extent, 1));
  }
  const int64_t lanes = lanes_of(stage, sketch.target);
  const Axis& last = stage.data.back();
  std::vector<std::string> outer;
  for (size_t d = scans ? 1 : 0; d + 1 < stage.data.size(); ++d) outer.push_back(stage.data[d].name);

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
  if (operations >= kParallelWork) sketch.parallel(stage.name, sketch.fuse(stage.name, outer));
}

}  // namespace tw::autotune::sketch
