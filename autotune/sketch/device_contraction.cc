// Matrix products and convolutions on a device: a block computes a tile of the result from tiles of both operands in
// shared memory, and each thread a part of it in registers.
//
//   blockIdx.z outer, blockIdx.y i.o, blockIdx.x j.o: vthread i.i.o: vthread j.i.o: threadIdx.y i.i.i: threadIdx.x
//   j.i.i.o:
//     for k.o, pipelined:
//       the tiles of both operands, copied by all threads
//       for k.i unrolled: vectorized j: sums[j] += A.shared * B.shared
//     vectorized j: the outputs, epilogue included
//
// Of few tiles blocks share the terms (device_parts.cc). A thread's rows, and its columns by 16 bytes, lie as far apart
// as there are threads: what a warp reads of an operand at once lies side by side, in different banks.
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"

namespace tw::autotune::sketch {

namespace {

struct Tile {
  int64_t rows, columns;                // of a block
  int64_t thread_rows, thread_columns;  // of a thread
  // Its rows and columns, of a thread its rows, its columns side by side, and how often it has as many.
  std::string json(int64_t widest) const {
    const int64_t vector = std::min(thread_columns, widest);
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "," + std::to_string(thread_rows) + "," +
           std::to_string(vector) + "," + std::to_string(thread_columns / vector) + "]";
  }
};

constexpr int64_t kVectorBytes = 16;

constexpr Tile kTiles[] = {{64, 64, 4, 4},  {128, 128, 8, 8}, {128, 64, 8, 4}, {64, 128, 4, 8}, {64, 64, 8, 4},
                           {32, 64, 2, 4},  {32, 32, 2, 4},   {64, 32, 4, 4},  {16, 64, 2, 4},  {16, 16, 1, 1},
                           {128, 32, 8, 4}, {32, 128, 4, 4},  {8, 128, 1, 4},  {128, 256, 8, 8}};

class DeviceContraction {
 public:
  DeviceContraction(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        root_(sketch.graph.at(group.root)),
        roles_(*roles_of(sketch.graph, group.anchor)),
        tiled_(whole_sums(stage_, roles_)) {}

  void run() {
    define_knobs();
    if (parts_ > 1) tiled_ = parts_of_sums(k_, stage_, roles_, parts_, 1);
    name_ = parts_ > 1 ? tiled_.stage : root_.name;
    sums_ = at_root() ? k_.cache_write(name_) : stage_.name;
    const std::vector<std::string> copies = share_operands(k_, group_, roles_, sums_);
    tile_outputs();
    tile_sums();
    for (const std::string& copy : copies) k_.step(schedule::ComputeAt{copy, sums_, terms_});
    if (!copies.empty()) k_.step(schedule::Pipeline{sums_, terms_, k_.cfg.factor(knob("stages")), "auto"});
    if (parts_ > 1) add_parts(k_, group_);
  }

 private:
  std::string knob(const char* what) const { return stage_.name + "." + what; }
  bool at_root() const { return parts_ > 1 || &stage_ == &root_; }
  std::string output_axis(int d) const { return (at_root() ? stage_ : root_).data[static_cast<size_t>(d)].name; }
  // Elements of 16 bytes of what is read along the columns.
  int64_t widest() const {
    const Operand& operand = roles_.vectors;
    const int stage = operand.through >= 0 ? operand.through : operand.source;
    return std::max<int64_t>(1, kVectorBytes / k_.graph.at(stage).type.bytes());
  }
  schedule::Factor tile(int part) const { return k_.cfg.factor(knob("tile"), part); }
  std::string split(const std::string& stage, const std::string& loop, schedule::Factor by) {
    k_.step(schedule::Split{stage, loop, std::move(by), {}, ir::Tail::kAuto});
    return loop + ".i";
  }
  // Virtual threads, and the loop that is left.
  std::string virtually(const std::string& loop, schedule::Factor threads) {
    k_.step(schedule::Split{name_, loop, {}, std::move(threads), ir::Tail::kAuto});
    return loop + ".i";
  }

  void define_knobs();
  void tile_outputs();
  void tile_sums();

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Stage& root_;
  const Roles roles_;
  TiledSums tiled_;
  int64_t parts_ = 1;
  std::string name_, sums_, thread_, terms_;
};

// Tiles that are at most twice the result, or the smallest.
void DeviceContraction::define_knobs() {
  const int64_t rows = stage_.data[static_cast<size_t>(roles_.rows)].extent;
  const int64_t columns = stage_.data[static_cast<size_t>(roles_.lanes)].extent;
  std::vector<std::string> tiles;
  for (const Tile& tile : kTiles)
    if (tile.rows < 2 * rows && tile.columns < 2 * columns) tiles.push_back(tile.json(widest()));
  if (tiles.empty()) tiles.push_back(Tile{16, 16, 1, 1}.json(widest()));
  const std::vector<int64_t> parts = parts_of_product(stage_, roles_, processors_of(k_.target), 1, Ends::kWhole);
  const bool few = parts.size() > 1;
  if (few) {
    k_.cfg.define_knob(knob("parts"), parts);
    parts_ = k_.cfg.value(knob("parts"));
  }
  k_.cfg.define_knob_json(knob("tile"), tiles);
  k_.cfg.define_knob(knob("terms"), up_to(stage_.sums.back().extent,
                                          few ? std::vector<int64_t>{16, 32} : std::vector<int64_t>{16, 8, 32, 4}));
  k_.cfg.define_knob(knob("stages"), few ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{2, 3, 4, 1});
}

void DeviceContraction::tile_outputs() {
  const std::string& name = name_;
  const std::string i = output_axis(roles_.rows), j = output_axis(roles_.lanes);
  const std::string rows = split(name, i, tile(0)), row = virtually(rows, tile(2));
  const std::string columns = split(name, j, tile(1)), part = virtually(columns, tile(4));
  const std::string column = split(name, part, tile(3));
  thread_ = part + ".o";
  std::vector<std::string> outer;
  if (parts_ > 1) outer.push_back(tiled_.outer.front());
  for (int d : roles_.outer) outer.push_back(output_axis(d));
  if (roles_.share >= 0) outer.push_back(output_axis(roles_.share));
  std::vector<std::string> order = outer;
  order.insert(order.end(), {i + ".o", j + ".o", rows + ".o", columns + ".o", row, thread_, column});
  k_.reorder(name, order);
  k_.step(schedule::Vectorize{name, column});
  if (!outer.empty()) k_.bind(name, k_.fuse(name, outer), "blockIdx.z");
  k_.bind(name, i + ".o", "blockIdx.y");
  k_.bind(name, j + ".o", "blockIdx.x");
  k_.bind(name, rows + ".o", "vthread");
  k_.bind(name, columns + ".o", "vthread");
  k_.bind(name, row, "threadIdx.y");
  k_.bind(name, thread_, "threadIdx.x");
}

void DeviceContraction::tile_sums() {
  k_.step(schedule::ComputeAt{sums_, name_, thread_});
  std::vector<std::string> order = tiled_.terms;
  const std::string inner = split(sums_, order.back(), k_.cfg.factor(knob("terms")));
  order.back() += ".o";
  terms_ = order.back();
  order.push_back(inner);
  if (parts_ > 1) order.push_back(tiled_.outer.front());
  for (int d = 0; d < static_cast<int>(stage_.data.size()); ++d)
    if (d != roles_.rows && d != roles_.lanes) order.push_back(stage_.data[static_cast<size_t>(d)].name);
  // Of the whole domain the columns would be too long to be written out.
  const std::string i = stage_.data[static_cast<size_t>(roles_.rows)].name,
                    j = stage_.data[static_cast<size_t>(roles_.lanes)].name;
  const std::string column = split(sums_, j, tile(3));
  order.insert(order.end(), {i, j + ".o", column});
  k_.reorder(sums_, order);
  k_.step(schedule::Unroll{sums_, inner});  // an operand's next terms lie side by side, and are read together
  k_.step(schedule::Vectorize{sums_, column});
}

}  // namespace

std::optional<Group> match_device_contraction(const Graph& graph, int root) {
  std::optional<Group> group = match_contraction(graph, root);
  if (!group || !roles_of(graph, group->anchor)) return std::nullopt;
  const Roles roles = *roles_of(graph, group->anchor);
  Group own{root, group->anchor, {}};
  for (const Operand* operand : {&roles.broadcast, &roles.vectors})
    if (operand->through >= 0 && graph.at(operand->through).readers == std::vector<int>{group->anchor})
      own.members.push_back(operand->through);
  std::sort(own.members.begin(), own.members.end());
  own.members.erase(std::unique(own.members.begin(), own.members.end()), own.members.end());
  own.members.push_back(group->anchor);
  if (root != group->anchor) own.members.push_back(root);
  if (shares_bytes(graph, own.members)) return std::nullopt;
  return own;
}

void apply_device_contraction(Sketch& sketch, const Group& group) { DeviceContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
