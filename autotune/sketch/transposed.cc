#include "autotune/sketch/transposed.h"

#include <algorithm>

#include "autotune/sketch/from_memory.h"
#include "autotune/sketch/lanes.h"
#include "tensorwright/machine.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kBlockBytes = 16 << 10;  // of a block, of which there are two copies

// Which of the stage's axes each subscript is; empty where one is something else, or two are the same.
std::vector<size_t> axes_of(const Stage& stage, const Access& read) {
  std::vector<size_t> axes;
  for (const ir::Expr& at : read.at()) {
    const auto found = std::ranges::find_if(stage.data, [&](const Axis& axis) { return is_axis(at, axis); });
    const auto axis = static_cast<size_t>(found - stage.data.begin());
    if (found == stage.data.end() || std::ranges::find(axes, axis) != axes.end()) return {};
    axes.push_back(axis);
  }
  return axes;
}

// Whether rows of a column meet in one set, of the result or of what is read.
bool rows_meet(const Graph& graph, const Stage& stage, const Transposed& reads) {
  const auto in_one_set = [](int64_t bytes) { return bytes != 0 && bytes % kL1WayBytes == 0; };
  int64_t row = stage.type.bytes();
  for (size_t d = stage.data.size(); --d > reads.along;) row *= stage.data[d].extent;
  return in_one_set(row) || std::ranges::any_of(stage.reads, [&](const Access& read) {
           return std::ranges::find(reads.sources, read.stage) != reads.sources.end() &&
                  in_one_set(bytes_between(graph, read, stage.data.back()));
         });
}

}  // namespace

// The tensors that are read so, along the axis of the first of them.
Transposed transposed(const Graph& graph, const Stage& stage) {
  Transposed out;
  const size_t last = stage.data.size() - 1;
  for (const Access& read : stage.reads) {
    const std::vector<size_t> axes = axes_of(stage, read);
    const bool across = !axes.empty() && axes.back() != last && std::ranges::find(axes, last) != axes.end();
    const bool once = std::ranges::count(stage.reads, read.stage, &Access::stage) == 1;
    const bool direct = std::ranges::find(stage.direct, read.stage) != stage.direct.end();
    if (!across || !once || !direct || graph.at(read.stage).type.is_packed()) continue;
    if (out.sources.empty()) out.along = axes.back();
    if (axes.back() == out.along) out.sources.push_back(read.stage);
  }
  return out;
}

std::vector<int64_t> columns_of_blocks(const Graph& graph, const Stage& stage) {
  const Transposed reads = transposed(graph, stage);
  if (reads.sources.empty() || stage.bodies.size() != 1 || stage.type.is_packed()) return {};
  std::vector<int64_t> fitting;
  if (!rows_meet(graph, stage, reads)) return fitting;
  for (const int64_t lines : {4, 8}) {
    const int64_t columns = lines * kCacheLineBytes / stage.type.bytes(),
                  rows = kBlockBytes / (lines * kCacheLineBytes);
    if (columns <= stage.data.back().extent && rows <= stage.data[reads.along].extent) fitting.push_back(columns);
  }
  return fitting;
}

void turn_in_blocks(Sketch& sketch, const Stage& stage, int64_t lanes, int64_t columns) {
  const Transposed reads = transposed(sketch.graph, stage);
  const std::string i = stage.data[reads.along].name, j = stage.data.back().name, &name = stage.name;
  const std::string tile = sketch.cache_write(name);
  std::vector<std::string> copies, outer;
  for (const int source : reads.sources) copies.push_back(sketch.cache_read(sketch.graph.at(source).name, {tile}));
  for (const Axis& axis : stage.data)
    if (axis.name != i && axis.name != j) outer.push_back(axis.name);
  outer.push_back(i + ".o");
  sketch.split(name, i, kBlockBytes / stage.type.bytes() / columns);
  sketch.split(name, j, columns);
  sketch.split(name, j + ".i", lanes);
  std::vector<std::string> order = outer;
  order.insert(order.end(), {j + ".o", i + ".i", j + ".i.o", j + ".i.i"});
  sketch.reorder(name, order);
  sketch.step(schedule::Unroll{name, j + ".i.o"});
  sketch.step(schedule::Vectorize{name, j + ".i.i"});

  sketch.split(tile, i, lanes);
  sketch.split(tile, j, lanes);
  sketch.reorder(tile, {i + ".o", j + ".o", i + ".i", j + ".i"});
  sketch.step(schedule::Unroll{tile, i + ".i"});
  sketch.step(schedule::Vectorize{tile, j + ".i"});
  sketch.step(schedule::ComputeAt{tile, name, j + ".o"});
  for (const std::string& copy : copies) {
    const std::string last = data_loops(sketch.s, copy).back();
    sketch.split(copy, last, lanes);
    sketch.step(schedule::Vectorize{copy, last + ".i"});
    sketch.step(schedule::ComputeAt{copy, name, j + ".o"});
  }
  if (stage.operations >= kParallelWork) sketch.parallel(name, sketch.fuse(name, outer));
  store_past_caches(sketch, stage);
}

}  // namespace tw::autotune::sketch
