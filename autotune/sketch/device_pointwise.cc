// Any stage of a device that shares nothing: each thread computes elements of its own.
//
//   for i: for j: B[i, j] = f(A[i, j])    ==>    blockIdx.x i*j.o: threadIdx.x i*j.i.o: vectorized i*j.i.i
//   for j: for k: C[j] += A[k, j]         ==>    blockIdx.x j.o: threadIdx.x j.i: for k
//
// Neighbouring threads compute neighbouring elements, so that a warp's accesses are whole lines of memory. Where all
// reads are in place the elements are one long row, and each thread takes a vector of it. 4-bit integers are stored by
// whole bytes.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16;

// Whether it reads the element that the stage writes, of a tensor of the same shape.
bool is_in_place(const Graph& graph, const Stage& stage, const Access& read) {
  if (graph.at(read.stage).shape != stage.shape || read.at().size() != stage.data.size()) return false;
  for (size_t d = 0; d < stage.data.size(); ++d) {
    const auto* var = ir::as<ir::VarRef>(read.at()[d]);
    if (var == nullptr || !(var->var == stage.data[d].var)) return false;
  }
  return true;
}

// Elements that one access moves, where each read is of the element that is written.
int64_t widest_vector(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kPointwise || stage.type.bits < 8) return 1;
  int64_t bytes = stage.type.bytes();
  for (const Access& read : stage.reads) {
    if (!is_in_place(graph, stage, read)) return 1;
    bytes = std::max<int64_t>(bytes, graph.at(read.stage).type.bytes());
  }
  return std::max<int64_t>(1, kVectorBytes / bytes);
}

}  // namespace

std::optional<Group> match_device_pointwise(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  const bool known = stage.kind == StageKind::kPointwise || stage.reduces();
  if (!known || stage.data.empty() || stage.elements == 0) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_device_pointwise(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  std::string all = sketch.fuse(stage.name, data_loops(sketch.s, stage.name));
  sketch.cfg.define_knob(stage.name + ".threads", {256, 128, 512, 64, 1024});
  if (const int64_t vector = widest_vector(sketch.graph, group.root); vector > 1) {
    sketch.cfg.define_knob(stage.name + ".vector", up_to(stage.elements, {vector, vector / 2, 1}));
    sketch.step(schedule::Split{stage.name, all, sketch.cfg.factor(stage.name + ".vector"), {}, ir::Tail::kAuto});
    sketch.step(schedule::Vectorize{stage.name, all + ".i"});
    all += ".o";
  } else if (stage.type.is_packed()) {
    sketch.cfg.define_knob(stage.name + ".neighbours", {8, 2, 4});
    sketch.step(schedule::Split{stage.name, all, sketch.cfg.factor(stage.name + ".neighbours"), {}, ir::Tail::kAuto});
    all += ".o";
  }
  share(sketch, stage.name, all, sketch.cfg.factor(stage.name + ".threads"));
  sketch.bind(stage.name, all + ".o", "blockIdx.x");
}

}  // namespace tw::autotune::sketch
