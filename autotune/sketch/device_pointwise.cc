// Any stage of a device that shares nothing: each thread computes elements of its own.
//
//   for i: for j: B[i, j] = f(A[i, j])    ==>    blockIdx.x i*j.o: threadIdx.x i*j.i.o: vectorized i*j.i.i
//   for j: for k: C[j] += A[k, j]         ==>    blockIdx.x j.o: threadIdx.x j.i: for k
//
// Neighbouring threads compute neighbouring elements, so that a warp's accesses are whole lines of memory. Where all
// reads are in place the elements are one long row, and each thread takes a vector of it; where others run along the
// stage's own rows, or stay where they are, it takes one of a row. 4-bit integers are stored by whole bytes.
//
//   S[i] = sum of A[2 * i + k]; B[i] = f(S[i])   ==>   blockIdx.x i.o: threadIdx.x i.i: S.local; B[i] = f(S.local)
//
// A sum that no threads share, as of a window, is added up by the one that needs it. A stage without dimensions is
// computed by one thread.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr std::string_view kName = "device_pointwise";  // in the table of rules
constexpr int64_t kVectorBytes = 16;

// Whether it reads the element that the stage writes, of a tensor of the same shape.
bool is_in_place(const Graph& graph, const Stage& stage, const Access& read) {
  if (graph.at(read.stage).shape != stage.shape || read.at().size() != stage.data.size()) return false;
  for (size_t d = 0; d < stage.data.size(); ++d)
    if (!is_axis(read.at()[d], stage.data[d])) return false;
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

// What the thread that writes so many neighbours of a row reads: one element for all of them, as many neighbours, or
// each from anywhere. None of these: a vector of it begins within another.
enum class Reads : uint8_t { kSame, kNeighbours, kAnywhere, kUneven };

Reads reads_of(const Graph& graph, const Stage& stage, const Access& read, int64_t lanes) {
  const Axis& row = stage.data.back();
  const ir::Var vector(row.name + ".o"), lane(row.name + ".i");
  const ir::Bounds bounds{{vector.id(), {0, row.extent / lanes - 1}}, {lane.id(), {0, lanes - 1}}};
  std::vector<ir::Expr> at;
  for (const ir::Expr& e : read.at())
    at.push_back(ir::simplify(ir::substitute(e, {{row.var.id(), vector * lanes + lane}}), bounds));
  std::vector<int64_t> shape = graph.at(read.stage).shape;
  for (; shape.size() > 1 && shape.back() == 1; shape.pop_back()) at.pop_back();  // depthwise weights end so
  const auto moves = [&](const ir::Expr& e) { return ir::uses_var(e, lane); };
  if (std::ranges::none_of(at, moves)) return Reads::kSame;
  if (std::ranges::any_of(at, [&](const ir::Expr& e) { return moves(e) && ir::has_load(e); })) return Reads::kAnywhere;
  const ir::Expr first = ir::simplify(at.back() - lane, bounds);
  const bool whole = std::none_of(at.begin(), at.end() - 1, moves) && !moves(first) && shape.back() % lanes == 0 &&
                     ir::is_int(ir::simplify(ir::floormod(first, lanes), bounds), 0);
  return whole && !graph.at(read.stage).type.is_packed() ? Reads::kNeighbours : Reads::kUneven;
}

}  // namespace

// The same of a row, whose elements need not be read in place; nor are what sums read. Of what is read again and again,
// such as one row for all others, wider elements are several vectors.
int64_t widest_of_rows(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.type.bits < 8 || stage.bodies.size() != 1) return 1;
  const auto suits = [&](const Access& read, int64_t lanes) {
    const Reads reads = reads_of(graph, stage, read, lanes);
    const bool often = 2 * touched(stage, read) < static_cast<double>(stage.elements);
    return reads != Reads::kUneven &&
           (reads == Reads::kSame || often || lanes * graph.at(read.stage).type.bytes() <= kVectorBytes);
  };
  for (int64_t lanes = kVectorBytes / stage.type.bytes(); lanes > 1; lanes /= 2)
    if (stage.data.back().extent % lanes == 0 &&
        std::ranges::all_of(stage.reads, [&](const Access& read) { return suits(read, lanes); }))
      return lanes;
  return 1;
}

// Whether a sum is what the root alone reads, each where it writes, and no rule before the named one takes it.
bool is_a_threads_own(const Graph& graph, int root, int sum, std::string_view rule) {
  const Stage &stage = graph.at(root), &of = graph.at(sum);
  if (!of.reduces() || of.output || of.readers != std::vector{root} || of.bodies.size() != 1 || of.type.is_packed() ||
      stage.type.is_packed())
    return false;
  const auto reads = [&](const Access& read) { return read.stage != sum || is_in_place(graph, stage, read); };
  return std::ranges::all_of(stage.reads, reads) && !is_taken_before(graph, sum, rule);
}

namespace {

// The widest vectors that the root and the sums before it have in common.
int64_t widest_of_all(const Graph& graph, const Group& group) {
  int64_t lanes = kVectorBytes;
  for (const int member : group.members) lanes = std::min(lanes, widest_of_rows(graph, member));
  return lanes;
}

// Computed by a thread at its loop, as many side by side as it takes of the root.
void compute_at_thread(Sketch& sketch, const std::string& sum, const std::string& root, const std::string& loop,
                       bool wide) {
  sketch.step(schedule::ComputeAt{sum, root, loop});
  if (!wide) return;
  const std::string last = data_loops(sketch.s, sum).back();
  sketch.split(sum, last, sketch.cfg.factor(root + ".vector"));
  sketch.step(schedule::Vectorize{sum, last + ".i"});
}

// One element, in a loop of one iteration.
void by_one_thread(Sketch& sketch, const std::string& stage) {
  sketch.step(schedule::Fuse{stage, {}});
  const schedule::StageNest& nest = sketch.s.nest().stage(sketch.s.nest().find_stage(stage));
  sketch.bind(stage, nest.axes[static_cast<size_t>(nest.leaves.front())].name, "threadIdx.x");
}

}  // namespace

std::optional<Group> match_device_pointwise(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  const bool known = stage.kind == StageKind::kPointwise || stage.reduces();
  if (!known || stage.elements == 0) return std::nullopt;
  if (stage.data.empty()) return Group{root, root, {root}};
  Group group{root, root, {}};
  for (int sum = 0; sum < root; ++sum)
    if (stage.kind == StageKind::kPointwise && is_a_threads_own(graph, root, sum, kName)) group.members.push_back(sum);
  group.members.push_back(root);
  return group;
}

void apply_device_pointwise(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  if (stage.data.empty()) return by_one_thread(sketch, stage.name);
  std::vector<std::string> loops = data_loops(sketch.s, stage.name);
  sketch.cfg.define_knob(stage.name + ".threads", {256, 128, 512, 64, 1024});
  const bool alone = group.members.size() == 1;
  const int64_t anywhere = alone ? widest_vector(sketch.graph, group.root) : 1;
  const int64_t of_row = anywhere > 1 ? 1 : widest_of_all(sketch.graph, group);
  if (of_row > 1) {
    sketch.cfg.define_knob(stage.name + ".vector", up_to(of_row, {of_row, of_row / 2, 1}));
    sketch.step(
        schedule::Split{stage.name, loops.back(), sketch.cfg.factor(stage.name + ".vector"), {}, ir::Tail::kAuto});
    sketch.step(schedule::Vectorize{stage.name, loops.back() + ".i"});
    loops.back() += ".o";
  }
  std::string all = sketch.fuse(stage.name, loops);
  if (anywhere > 1) {
    sketch.cfg.define_knob(stage.name + ".vector", up_to(stage.elements, {anywhere, anywhere / 2, 1}));
    sketch.split(stage.name, all, sketch.cfg.factor(stage.name + ".vector"));
    sketch.step(schedule::Vectorize{stage.name, all + ".i"});
    all += ".o";
  } else if (stage.type.is_packed()) {
    sketch.cfg.define_knob(stage.name + ".neighbours", {8, 2, 4});
    sketch.split(stage.name, all, sketch.cfg.factor(stage.name + ".neighbours"));
    all += ".o";
  }
  share(sketch, stage.name, all, sketch.cfg.factor(stage.name + ".threads"));
  sketch.bind(stage.name, all + ".o", "blockIdx.x");
  for (const int member : group.members)
    if (member != group.root)
      compute_at_thread(sketch, sketch.graph.at(member).name, stage.name, all + ".i", of_row > 1);
}

}  // namespace tw::autotune::sketch
