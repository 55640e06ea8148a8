// What reads a tensor along another axis than it writes, as a transpose does: a block copies a tile of it to shared
// memory as the tensor lies, and reads that tile as the result lies.
//
//   for i: for j: B[i, j] = f(A[j, i])
//     ==>
//   blockIdx.y i.o: blockIdx.x j.o:
//     A.shared, rows one word longer
//     unrolled i.i.o: threadIdx.y i.i.i: threadIdx.x j.i.o: vectorized j.i.i: B[i, j] = f(A.shared[j, i])
//
// Both sides of memory are touched by whole lines then. The longer rows put a column's elements into different banks.
// Blocks go along the result's rows, and a thread has several of them: 16384^2 of float32 run at .98 of a copy of an
// H200, tiles of 32 x 32 with blocks along the tensor's rows at .85.
#include <algorithm>
#include <bit>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "autotune/sketch/transposed.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16, kBankBytes = 4, kLineBytes = 128;
constexpr int64_t kLeast = 16;  // iterations along both axes
constexpr int64_t kTile = 32;
constexpr int64_t kThreads = 256;

// Of rows and vectors of columns of a tile, of the elements that a thread takes side by side, and of threads along
// rows.
std::string json(int64_t rows, int64_t columns, int64_t vector) {
  const int64_t across = columns / vector,
                along = std::min(rows, kThreads / static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(across))));
  return "[" + std::to_string(rows) + "," + std::to_string(across) + "," + std::to_string(vector) + "," +
         std::to_string(along) + "]";
}

// Columns that no vectors divide are whole rows of threads, where there are few: else ends of rows and the next rows'
// beginnings would meet in the same banks.
std::vector<std::string> tiles_of(const Stage& stage, int64_t processors) {
  constexpr int64_t kLarge = 2 * kTile, kTurns = 8;
  const bool many = stage.elements / (kLarge * kLarge) >= kTurns * processors;  // of large tiles
  const int64_t widest = std::max<int64_t>(1, kVectorBytes / stage.type.bytes()), columns = stage.data.back().extent;
  std::vector<std::string> tiles;
  if (columns > kTile && columns <= 2 * kTile && columns % widest != 0)
    for (const int64_t rows : {kTile / 2, kTile / 4}) tiles.push_back(json(rows, columns, 1));
  for (const int64_t vector : up_to(widest, {widest, widest / 2, 1}))
    for (const int64_t tile : {kLarge, kTile})
      if (tile > kTile || !many) tiles.push_back(json(tile, tile, vector));
  return tiles;
}

}  // namespace

std::optional<Group> match_device_transposed(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  const bool known = stage.kind == StageKind::kPointwise && stage.bodies.size() == 1 && !stage.type.is_packed();
  if (!known || stage.data.size() < 2 || stage.elements == 0) return std::nullopt;
  const Transposed reads = transposed(graph, stage);
  const int64_t rows = stage.data[reads.along].extent, columns = stage.data.back().extent;
  if (reads.sources.empty() || rows < kLeast || columns < kLeast) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_device_transposed(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const std::string& name = stage.name;
  const Transposed reads = transposed(sketch.graph, stage);
  const std::string i = stage.data[reads.along].name, j = stage.data.back().name;
  sketch.cfg.define_knob_json(name + ".tile", tiles_of(stage, processors_of(sketch.target)));
  std::vector<std::string> copies, outer;
  for (const int source : reads.sources)
    copies.push_back(sketch.cache_read(sketch.graph.at(source).name, {name}, ir::Scope::kShared));
  const auto split = [&](const std::string& axis, int part) {
    return sketch.split(name, axis, sketch.cfg.factor(name + ".tile", part)).inner;
  };
  const std::string rows = split(i, 0), row = split(rows, 3), lanes = split(j, 2), vectors = j + ".o",
                    column = split(vectors, 1);
  for (const Axis& axis : stage.data)
    if (axis.name != i && axis.name != j) outer.push_back(axis.name);
  std::vector<std::string> order = outer;
  order.insert(order.end(), {i + ".o", vectors + ".o", rows + ".o", row, column, lanes});
  sketch.reorder(name, order);
  const int64_t in_rows = stage.data[reads.along].extent;
  const std::string block = bind_tiles(sketch, name, outer, i + ".o", vectors + ".o",
                                       {stage.elements / in_rows / stage.data.back().extent, in_rows, kTile / 4});
  sketch.step(schedule::Unroll{name, rows + ".o"});
  sketch.bind(name, row, "threadIdx.y");
  sketch.bind(name, column, "threadIdx.x");
  sketch.step(schedule::Vectorize{name, lanes});
  for (size_t n = 0; n < copies.size(); ++n) {
    const int64_t bytes = sketch.graph.at(reads.sources[n]).type.bytes();
    const std::vector<std::string> loops = data_loops(sketch.s, copies[n]);
    sketch.step(schedule::ComputeAt{copies[n], name, block});
    sketch.step(schedule::StorageAlign{copies[n], loops[loops.size() - 2], std::max<int64_t>(1, kLineBytes / bytes),
                                       std::max<int64_t>(1, kBankBytes / bytes)});
  }
}

}  // namespace tw::autotune::sketch
