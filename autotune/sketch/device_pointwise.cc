// Any stage of a device that shares nothing: each thread computes elements of its own.
//
//   for i: for j: B[i, j] = f(A[i, j])    ==>    blockIdx.x i*j.o: threadIdx.x i*j.i.o: vectorized i*j.i.i
//   for j: for k: C[j] += A[k, j]         ==>    blockIdx.x j.o: threadIdx.x j.i: for k
//
// Neighbouring threads compute neighbouring elements, so that a warp's accesses are whole lines of memory. Where all
// reads are in place the elements are one long row, and each thread takes a vector of it; where others run along the
// stage's own rows, or stay where they are, it takes one of a row. 4-bit integers are stored by whole bytes.
#include <algorithm>
#include <numeric>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/walk.h"

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

// The same of a row: each read is of neighbours where the elements are, or of one for all of them.
int64_t widest_of_rows(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kPointwise || stage.type.bits < 8 || stage.bodies.size() != 1) return 1;
  const Axis& row = stage.data.back();
  int64_t bytes = stage.type.bytes(), alignment = row.extent;
  for (const Access& read : stage.reads) {
    const std::vector<ir::Expr>& at = read.at();
    const auto uses = [&](const ir::Expr& e) { return ir::uses_var(e, row.var); };
    if (std::ranges::none_of(at, uses)) continue;
    const auto* last = ir::as<ir::VarRef>(at.back());
    if (last == nullptr || !(last->var == row.var) || std::any_of(at.begin(), at.end() - 1, uses)) return 1;
    if (graph.at(read.stage).type.is_packed()) return 1;
    bytes = std::max<int64_t>(bytes, graph.at(read.stage).type.bytes());
    alignment = std::gcd(alignment, graph.at(read.stage).shape.back());
  }
  int64_t lanes = kVectorBytes / bytes;
  while (lanes > 1 && alignment % lanes != 0) lanes /= 2;
  return std::max<int64_t>(lanes, 1);
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
  std::vector<std::string> loops = data_loops(sketch.s, stage.name);
  sketch.cfg.define_knob(stage.name + ".threads", {256, 128, 512, 64, 1024});
  const int64_t of_row = widest_vector(sketch.graph, group.root) > 1 ? 1 : widest_of_rows(sketch.graph, group.root);
  if (of_row > 1) {
    sketch.cfg.define_knob(stage.name + ".vector", up_to(of_row, {of_row, of_row / 2, 1}));
    sketch.step(
        schedule::Split{stage.name, loops.back(), sketch.cfg.factor(stage.name + ".vector"), {}, ir::Tail::kAuto});
    sketch.step(schedule::Vectorize{stage.name, loops.back() + ".i"});
    loops.back() += ".o";
  }
  std::string all = sketch.fuse(stage.name, loops);
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
