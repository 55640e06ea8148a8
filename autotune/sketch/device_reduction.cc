// Sums of rows on a device: the threads of a block share the terms of a row.
//
//   for i: for k: S[i] += A[i, k]   ==>   blockIdx.x i.o: threadIdx.y i.i: for k.o: threadIdx.x k.i: S[i] += A[i, k]
//
// Neighbouring threads take neighbouring terms; what they have is added up at the end. Short rows share a block. A
// reduction to one element is a row too, of any length: it has no other loops that could be bound.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

bool runs_along_terms(const Stage& stage) {
  const Access* read = main_read(stage);
  return read != nullptr && stride_along(*read, stage.sums.back()) == 1;
}

}  // namespace

std::optional<Group> match_device_reduction(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (!stage.reduces() || stage.sums.empty() || stage.elements == 0) return std::nullopt;
  const int64_t terms = stage.sums.back().extent;
  if (stage.data.empty()) return terms > 0 ? std::optional(Group{root, root, {root}}) : std::nullopt;
  if (stage.bodies.size() != 1 || stage.type.is_packed() || !runs_along_terms(stage) || terms < kLeastShared)
    return std::nullopt;
  return Group{root, root, {root}};
}

void apply_device_reduction(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const std::string& name = stage.name;
  sketch.cfg.define_knob(name + ".threads", up_to(stage.sums.back().extent, {128, 32, 64, 256, 512, 1024}));
  if (const std::vector<std::string> data = data_loops(sketch.s, name); !data.empty()) {
    const std::string rows = sketch.fuse(name, data);
    sketch.cfg.define_knob(name + ".rows", up_to(stage.elements, {1, 2, 4, 8}));
    sketch.step(schedule::Split{name, rows, sketch.cfg.factor(name + ".rows"), {}, ir::Tail::kAuto});
    sketch.bind(name, rows + ".o", "blockIdx.x");
    sketch.bind(name, rows + ".i", "threadIdx.y");
  }
  share(sketch, name, stage.sums.back().name, sketch.cfg.factor(name + ".threads"));
}

}  // namespace tw::autotune::sketch
