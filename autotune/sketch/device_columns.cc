// Sums down columns on a device, of which there are not enough for a thread each: those along y share the terms of one,
// and where that still makes few blocks, blocks do.
//
//   for j: for k: C[j] += A[k, j]   ==>   blockIdx.y k.o, blockIdx.x j.o: threadIdx.x j.i:
//                                           for k.i.o: threadIdx.y k.i.i: C.rf[k.o, j] += A[k, j]
//                                         blockIdx.x j.o: threadIdx.x j.i:
//                                           for k.o.o: threadIdx.y k.o.i: C[j] += C.rf[k.o, j]
//
// Neighbouring threads take neighbouring columns, each as many as a vector has, so that a warp reads whole lines of
// memory. Terms along several axes, each of which is read once, as those of a channel that lies beside the others, are
// one long column; blocks have parts of the longest of these axes.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kEnoughColumns = 1 << 17;  // threads that a device is full of
constexpr int64_t kLane = 32;                // of a warp, as many columns as fill a line
constexpr int64_t kLeastOfABlock = 128;      // terms, of single elements
constexpr int64_t kLeastOfAxes = 4 * kLeastShared;

const Axis& longest(const Stage& stage) {
  return *std::ranges::max_element(stage.sums, {}, [](const Axis& axis) { return axis.extent; });
}

// Of these sources a thread has as many neighbours in registers.
void sum_columns(Sketch& sketch, const std::string& stage, const std::vector<std::string>& data,
                 const std::string& terms, const std::string& knobs, const Vectors& vectors) {
  const std::string all = sketch.fuse(stage, data);
  const bool wide = vectors.lanes > 1;
  if (wide) sketch.split(stage, all, vectors.lanes);
  const std::string columns = wide ? all + ".o" : all;
  share(sketch, stage, columns, sketch.cfg.factor(knobs + ".columns"));
  sketch.bind(stage, columns + ".o", "blockIdx.x");
  sketch.split(stage, terms, sketch.cfg.factor(knobs + ".threads"));
  if (wide) {
    sketch.reorder(stage, {terms + ".o", terms + ".i", all + ".i"});
    sketch.step(schedule::Unroll{stage, all + ".i"});
  }
  sketch.bind(stage, terms + ".i", "threadIdx.y");
  for (const std::string& copy : keep_in_registers(sketch, stage, vectors.sources))
    load_vectors(sketch, copy, {stage, terms + ".i"}, vectors.lanes);
}

}  // namespace

std::optional<Group> match_device_columns(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (!stage.reduces() || stage.sums.empty() || stage.data.empty()) return std::nullopt;
  if (shares_bytes(graph, {root}) || stage.elements == 0 || stage.elements >= kEnoughColumns) return std::nullopt;
  const Access* read = main_read(stage);
  const bool along_columns = read != nullptr && stride_along(*read, stage.data.back()) == 1;
  const bool several = is_one_row(stage) && extents(stage.sums) >= kLeastOfAxes;
  if (!along_columns || (longest(stage).extent < kLeastShared && !several)) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_device_columns(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const std::string& name = stage.name;
  const bool several = is_one_row(stage);
  const Axis& parted = longest(stage);
  const int64_t terms = several ? extents(stage.sums) : parted.extent;
  Vectors vectors = vectors_along(sketch.graph, stage, stage.data.back());
  if (vectors.sources.empty()) vectors.lanes = 1;
  const int64_t columns = (stage.elements + vectors.lanes - 1) / vectors.lanes;  // of threads
  if (vectors.lanes > 1) sketch.cfg.define_knob(name + ".vector", {vectors.lanes, 1});
  sketch.cfg.define_knob(name + ".columns", up_to(columns, {kLane, 2 * kLane, 4 * kLane}));
  sketch.cfg.define_knob(name + ".threads", up_to(terms, {8, 4, 16, 32}));
  int64_t parts = parts_of((columns + kLane - 1) / kLane, terms, kLeastOfABlock / vectors.lanes);
  if (several) parts = even_parts(parted.extent, std::min(parts, parted.extent));
  if (parts >= 2)
    sketch.cfg.define_knob(name + ".parts",
                           up_to(several ? parted.extent : terms / kLeastShared, {parts, parts / 2, 2 * parts}));
  if (vectors.lanes > 1 && sketch.cfg.value(name + ".vector") == 1) vectors = {};
  const auto column_of = [&](const std::string& from, const std::string& along) {
    return several ? sketch.fuse(from, sum_loops(sketch.s, from)) : along;
  };
  if (parts < 2)
    return sum_columns(sketch, name, data_loops(sketch.s, name), column_of(name, parted.name), name, vectors);

  const Parts shared = share_among_blocks(sketch, name, parted.name, sketch.cfg.factor(name + ".parts"));
  sketch.bind(shared.stage, shared.part, "blockIdx.y");
  sum_columns(sketch, shared.stage, shared.data, column_of(shared.stage, shared.terms), name, vectors);
  sum_columns(sketch, name, data_loops(sketch.s, name), sum_loops(sketch.s, name).back(), name, {});
}

}  // namespace tw::autotune::sketch
