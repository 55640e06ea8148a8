// Any stage of a device that shares nothing: each thread computes elements of its own.
//
//   for i: for j: B[i, j] = f(A[i, j])    ==>    blockIdx.x i*j.o: threadIdx.x i*j.i.o: vectorized i*j.i.i
//   for j: for k: C[j] += A[k, j]         ==>    blockIdx.x j.o: threadIdx.x j.i: for k
//
// Neighbouring threads compute neighbouring elements, so that a warp's accesses are whole lines of memory. Where all
// reads are in place the elements are one long row, and each thread takes a vector of it.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16;

// Elements that one access moves, where each read is of the element that is written.
int64_t widest_vector(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kPointwise || stage.type.bits < 8) return 1;
  int64_t bytes = stage.type.bytes();
  for (const Access& read : stage.reads) {
    if (!reads_in_place(graph, root, read.stage)) return 1;
    bytes = std::max<int64_t>(bytes, graph.at(read.stage).type.bytes());
  }
  return std::max<int64_t>(1, kVectorBytes / bytes);
}

}  // namespace

void bind_loop(Sketch& sketch, const std::string& stage, const std::string& loop, const char* index) {
  sketch.step(schedule::Bind{stage, loop, index});
}

void bind_flat(Sketch& sketch, const std::string& stage, const std::vector<std::string>& loops,
               schedule::Factor threads, const std::string& last) {
  const std::string all = sketch.fuse(stage, loops);
  sketch.step(schedule::Split{stage, all, std::move(threads), {}, ir::Tail::kAuto});
  if (!last.empty()) sketch.step(schedule::Vectorize{stage, last});
  bind_loop(sketch, stage, all + ".o", "blockIdx.x");
  bind_loop(sketch, stage, all + ".i", "threadIdx.x");
}

std::optional<Group> match_device_pointwise(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  const bool known = stage.kind == StageKind::kPointwise || stage.reduces();
  if (!known || stage.data.empty() || stage.elements == 0) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_device_pointwise(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  std::vector<std::string> loops = data_loops(sketch.s, stage.name);
  sketch.cfg.define_knob(stage.name + ".threads", {256, 128, 512, 64, 1024});
  const int64_t vector = widest_vector(sketch.graph, group.root);
  if (vector == 1) return bind_flat(sketch, stage.name, loops, sketch.cfg.factor(stage.name + ".threads"));
  sketch.cfg.define_knob(stage.name + ".vector", up_to(stage.elements, {vector, vector / 2, 1}));
  const std::string all = sketch.fuse(stage.name, loops);
  sketch.step(schedule::Split{stage.name, all, sketch.cfg.factor(stage.name + ".vector"), {}, ir::Tail::kAuto});
  bind_flat(sketch, stage.name, {all + ".o"}, sketch.cfg.factor(stage.name + ".threads"), all + ".i");
}

}  // namespace tw::autotune::sketch
