// Matrix products and convolutions on tensor cores: a block computes a tile of the result from tiles of both operands
// in shared memory, each of its warps a part of it by products of 16 x 8 sums.
//
//   blockIdx.z outer, blockIdx.y i.o, blockIdx.x j.o: threadIdx.z i.i.o: threadIdx.y j.i.o:
//     for k.o, pipelined:
//       the tiles of both operands, copied by all threads, in swizzled rows
//       for k.i.o unrolled, i.i.i.o, j.i.i.o: a product of a warp, whose lanes are threadIdx.x
//     the outputs by the lane map; where there is an epilogue, through shared memory
//
// Only where whole products make up the result: no lane of a warp can leave out its part.
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::autotune::sketch {

namespace {

struct Tile {
  int64_t rows, columns;            // of a block
  int64_t warp_rows, warp_columns;  // of a warp
  // With how many neighbours of a row a thread takes of the epilogue.
  std::string json() const {
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "," + std::to_string(warp_rows) + "," +
           std::to_string(warp_columns) + "," + std::to_string(std::max<int64_t>(1, warp_columns / ir::kLanesOfWarp)) +
           "]";
  }
};

constexpr Tile kTiles[] = {{128, 128, 64, 32}, {128, 64, 64, 32},  {64, 128, 32, 64},  {64, 64, 32, 32},
                           {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 32, 64}, {64, 32, 32, 16},
                           {32, 64, 16, 32},   {32, 32, 16, 16},   {32, 16, 16, 8},    {16, 16, 16, 8},
                           {16, 8, 16, 8}};

class WarpContraction {
 public:
  WarpContraction(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        root_(sketch.graph.at(group.root)),
        roles_(*roles_of(sketch.graph, group.anchor)),
        product_(*product_for(sketch.graph, stage_, roles_, ir::warp_products())) {}

  void run() {
    define_knobs();
    const std::vector<std::string> copies = share_operands(k_, group_, roles_, stage_.name);
    if (&stage_ != &root_) tile_epilogue();
    tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, stage_.name, terms_});
      k_.step(schedule::Swizzle{copy, "auto"});
    }
    k_.step(schedule::Pipeline{stage_.name, terms_, k_.cfg.factor(knob("stages")), "auto"});
  }

 private:
  std::string knob(const char* what) const { return stage_.name + "." + what; }
  schedule::Factor tile(int part) const { return k_.cfg.factor(knob("tile"), part); }
  std::string split(const std::string& stage, const std::string& loop, schedule::Factor by) {
    k_.step(schedule::Split{stage, loop, std::move(by), {}, ir::Tail::kAuto});
    return loop + ".i";
  }
  std::vector<std::string> outer_axes(const Stage& stage) const {
    std::vector<std::string> outer;
    for (int d : roles_.outer) outer.push_back(stage.data[static_cast<size_t>(d)].name);
    if (roles_.share >= 0) outer.push_back(stage.data[static_cast<size_t>(roles_.share)].name);
    return outer;
  }
  std::string row_of(const Stage& stage) const { return stage.data[static_cast<size_t>(roles_.rows)].name; }
  std::string column_of(const Stage& stage) const { return stage.data[static_cast<size_t>(roles_.lanes)].name; }

  void define_knobs();
  void bind_blocks(const Stage& stage, const std::vector<std::string>& outer);
  void tile_epilogue();
  void tile_sums();

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Stage& root_;
  const Roles roles_;
  const ir::WarpProduct& product_;
  std::string terms_;
};

void WarpContraction::define_knobs() {
  const int64_t rows = stage_.data[static_cast<size_t>(roles_.rows)].extent;
  const int64_t columns = stage_.data[static_cast<size_t>(roles_.lanes)].extent;
  std::vector<std::string> tiles;
  for (const Tile& tile : kTiles)
    if (rows % tile.rows == 0 && columns % tile.columns == 0) tiles.push_back(tile.json());
  std::vector<int64_t> terms;
  for (const int64_t products : {2, 4, 1})
    if (stage_.sums.back().extent % (products * product_.k) == 0) terms.push_back(products * product_.k);
  k_.cfg.define_knob_json(knob("tile"), tiles);
  k_.cfg.define_knob(knob("terms"), terms);
  k_.cfg.define_knob(knob("stages"), std::vector<int64_t>{3, 4, 2, 1});
}

void WarpContraction::bind_blocks(const Stage& stage, const std::vector<std::string>& outer) {
  if (!outer.empty()) k_.bind(stage.name, k_.fuse(stage.name, outer), "blockIdx.z");
  k_.bind(stage.name, row_of(stage) + ".o", "blockIdx.y");
  k_.bind(stage.name, column_of(stage) + ".o", "blockIdx.x");
}

// Of the parts of warps a lane takes neighbours in each row.
void WarpContraction::tile_epilogue() {
  const std::string& name = root_.name;
  const std::string i = row_of(root_), j = column_of(root_);
  const std::string row = split(name, split(name, i, tile(0)), tile(2));
  const std::string part = split(name, split(name, j, tile(1)), tile(3));
  const std::string column = split(name, part, tile(4));
  const std::vector<std::string> outer = outer_axes(root_);
  std::vector<std::string> order = outer;
  order.insert(order.end(), {i + ".o", j + ".o", i + ".i.o", j + ".i.o", row, part + ".o", column});
  k_.reorder(name, order);
  k_.step(schedule::Vectorize{name, column});
  bind_blocks(root_, outer);
  k_.bind(name, i + ".i.o", "threadIdx.z");
  k_.bind(name, j + ".i.o", "threadIdx.y");
  k_.bind(name, part + ".o", "threadIdx.x");
  k_.step(schedule::SetScope{stage_.name, ir::Scope::kShared});
  k_.step(schedule::ComputeAt{stage_.name, name, j + ".o"});
}

void WarpContraction::tile_sums() {
  const std::string& name = stage_.name;
  const bool at_root = &stage_ == &root_;
  std::string i = row_of(stage_), j = column_of(stage_);
  std::vector<std::string> order = outer_axes(stage_);
  const std::vector<std::string> outer = order;
  if (at_root) {
    order.insert(order.end(), {i + ".o", j + ".o"});
    i = split(name, i, tile(0));
    j = split(name, j, tile(1));
  }
  const std::string part_rows = split(name, i, tile(2)), part_columns = split(name, j, tile(3));
  const std::string row = split(name, part_rows, product_.m), column = split(name, part_columns, product_.n);
  order.insert(order.end(), {i + ".o", j + ".o"});
  for (const Axis& sum : stage_.sums) order.push_back(sum.name);
  const std::string last = order.back(), inner = split(name, last, k_.cfg.factor(knob("terms")));
  const std::string term = split(name, inner, product_.k);
  terms_ = last + ".o";
  order.back() = terms_;
  order.insert(order.end(), {inner + ".o", part_rows + ".o", part_columns + ".o", row, column, term});
  k_.reorder(name, order);
  k_.step(schedule::Unroll{name, inner + ".o"});  // fragments of the next products are read meanwhile
  if (at_root) bind_blocks(stage_, outer);
  k_.bind(name, i + ".o", "threadIdx.z");
  k_.bind(name, j + ".o", "threadIdx.y");
  k_.step(schedule::Tensorize{name, row, std::string(product_.name)});
}

}  // namespace

std::optional<Group> match_device_warps(const Graph& graph, int root) {
  std::optional<Group> group = match_device_contraction(graph, root);
  if (!group || !product_for(graph, graph.at(group->anchor), *roles_of(graph, group->anchor), ir::warp_products()))
    return std::nullopt;
  return group;
}

void apply_device_warps(Sketch& sketch, const Group& group) { WarpContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
