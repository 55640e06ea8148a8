// Matrix products and convolutions on tensor cores: a block computes a tile of the result from tiles of both operands
// in shared memory, each of its warps a part of it by products of 16 x 8 sums.
//
//   blockIdx.z outer, blockIdx.y i.o, blockIdx.x j.o: threadIdx.z i.i.o: threadIdx.y j.i.o:
//     for k.o, pipelined; where there are several sums, all of their outer loops as one:
//       the tiles of both operands, copied by all threads, in swizzled rows
//       for k.i.o unrolled, i.i.i.o, j.i.i.o: a product of a warp, whose lanes are threadIdx.x
//     the outputs by the lane map; where there is an epilogue, through shared memory
//
// Rows of a tile are those of two axes where two of them have the same columns, as the rows and columns of an image
// have.
//
// Of few tiles blocks share the terms (device_parts.cc). Tiles that divide the result come first. Others reach past its
// end, which takes operands that are filled there with zeros: in shared memory of their own (schedule/filled.h).
#include <algorithm>

#include "autotune/sketch/device_product.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::autotune::sketch {

namespace {

struct Tile {
  int64_t rows, columns;              // of a block
  int64_t warp_rows, warp_columns;    // of a warp
  int64_t lines = 1, warp_lines = 1;  // of so many rows each, where there are two axes

  // With how many neighbours of a row a thread takes of the epilogue.
  std::string json(bool two_axes) const {
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "," + std::to_string(warp_rows) + "," +
           std::to_string(warp_columns) + "," + std::to_string(std::max<int64_t>(1, warp_columns / ir::kLanesOfWarp)) +
           (two_axes ? "," + std::to_string(lines) + "," + std::to_string(warp_lines) : "") + "]";
  }
};

constexpr Tile kTiles[] = {{128, 128, 64, 64}, {128, 128, 64, 32}, {128, 64, 64, 32},  {64, 128, 32, 64},
                           {64, 64, 32, 32},   {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 32, 64},
                           {64, 32, 32, 16},   {32, 64, 16, 32},   {32, 32, 16, 16},   {32, 16, 16, 8},
                           {16, 64, 16, 16},   {16, 32, 16, 8},    {16, 16, 16, 8},    {16, 8, 16, 8}};

// Whether both operands have tiles in shared memory of their own, of elements that are filled where there are none.
bool fills_operands(const Graph& graph, const Group& group, const Roles& roles) {
  const auto fills = [&](const Operand& operand) {
    if (operand.through < 0) return graph.at(operand.source).bodies.size() <= 1;
    const Stage& stage = graph.at(operand.through);
    return group.has(operand.through) && stage.sums.empty() && stage.bodies.size() == 1;
  };
  return fills(roles.broadcast) && fills(roles.vectors);
}

const ir::WarpProduct* product_of(const Graph& graph, const Group& group) {
  const Roles roles = *roles_of(graph, group.anchor);
  const Ends ends = fills_operands(graph, group, roles) ? Ends::kFilled : Ends::kWhole;
  return product_for(graph, graph.at(group.anchor), roles, ir::warp_products(), ends);
}

// With as many rows, in the lines that reach least past the end.
Tile in_lines(const Tile& tile, int64_t rows, int64_t lines, int64_t least) {
  Tile best = tile;
  double most = past_end(rows, tile.rows);
  for (int64_t row = tile.rows / 2; row >= least; row /= 2) {
    const int64_t of_warp = std::min(row, tile.warp_rows);
    const Tile other{row, tile.columns, of_warp, tile.warp_columns, tile.rows / row, tile.warp_rows / of_warp};
    const double here = past_end(rows, row) * past_end(lines, other.lines);
    if (here < most) best = other, most = here;
  }
  return best;
}

class WarpContraction : DeviceProduct {
 public:
  WarpContraction(Sketch& sketch, const Group& group)
      : DeviceProduct(sketch, group), product_(*product_of(sketch.graph, group)) {}

  void run() {
    define_knobs();
    const std::string apart = read_apart(k_, group_, roles_);
    if (parts_ > 1) tiled_ = parts_of_sums(k_, stage_, roles_, parts_, value("terms"));
    const std::vector<std::string> copies = share_operands(k_, group_, roles_, tiled_.stage, apart);
    if (!at_root()) tile_epilogue();
    tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, tiled_.stage, terms_});
      const bool first = &copy == &copies.front();
      if (copies.size() == 2 &&
          (first ? lies_across(roles_.broadcast, roles_.rows) : lies_across(roles_.vectors, roles_.lanes)))
        keep_apart(copy);
      else
        k_.step(schedule::Swizzle{copy, "auto"});
    }
    k_.step(schedule::Pipeline{tiled_.stage, terms_, factor("stages"), "auto"});
    if (parts_ > 1) add_parts(k_, group_);
  }

 private:
  // By the size of a product, which is one of a short axis too.
  std::string product(const std::string& loop, int size, const Axis& axis) {
    return split(tiled_.stage, loop, size, axis.extent < size ? ir::Tail::kMask : ir::Tail::kAuto);
  }
  // The loop over the parts of a block's rows, each of a warp.
  std::string parts(const std::string& stage, const std::string& line, const std::string& rows) {
    return has_lines() ? k_.fuse(stage, {line + ".o", rows}) : rows;
  }
  bool fills() const { return fills_operands(k_.graph, group_, roles_); }

  std::vector<std::string> tiles() const;
  // Whether lanes read single words of four rows of terms, as ldmatrix transposes none of 32 bits.
  bool lies_across(const Operand& operand, int axis) const {
    return product_.operand.bits == 32 && operand.through < 0 && operand.read->at().size() > 1 &&
           stride_along(*operand.read, stage_.data[static_cast<size_t>(axis)]) == 1;
  }
  // Rows a quarter of all banks apart, so that eight neighbours of each of four have banks of their own.
  void keep_apart(const std::string& copy) {
    constexpr int64_t kBanks = 32;
    const std::vector<std::string> loops = data_loops(k_.s, copy);
    k_.step(schedule::StorageAlign{copy, loops[loops.size() - 2], kBanks, kBanks / 4});
  }

  void define_knobs();
  std::string bind_blocks(const std::string& name, const Stage& stage, const std::vector<std::string>& outer);
  void tile_epilogue();
  void tile_sums();

  const ir::WarpProduct& product_;
  std::string terms_;
};

std::vector<std::string> WarpContraction::tiles() const {
  const int64_t rows = row_of(stage_).extent, columns = column_of(stage_).extent;
  const int64_t lines = has_lines() ? stage_.data[static_cast<size_t>(roles_.share)].extent : 1;
  std::vector<std::pair<Tile, double>> all;
  double least = kMostPastEnd;
  for (const Tile& one : kTiles) {
    if (roles_.row_group % one.rows != 0) continue;  // rows of two groups have no operand in common
    const Tile tile = has_lines() ? in_lines(one, rows, lines, product_.m) : one;
    all.emplace_back(tile, past_end(rows, tile.rows) * past_end(columns, tile.columns) * past_end(lines, tile.lines));
    least = all.size() == 1 ? all.back().second : std::min(least, all.back().second);
  }
  std::vector<std::string> whole, others;
  for (const auto& [tile, more] : all)
    if (more == 1)
      whole.push_back(tile.json(has_lines()));
    else if (fills() && more <= std::max(kMostPastEnd, 1.25 * least))
      others.push_back(tile.json(has_lines()));
  whole.insert(whole.end(), others.begin(), others.end());
  return whole;
}

void WarpContraction::define_knobs() {
  const int64_t sums = stage_.sums.back().extent;
  std::vector<int64_t> terms, more;
  for (const int64_t products : {2, 4, 1})
    (sums % (products * product_.k) == 0 ? terms : more).push_back(products * product_.k);
  if (fills()) std::ranges::copy_if(more, std::back_inserter(terms), [&](int64_t n) { return n < 2 * sums; });
  if (terms.empty()) terms.push_back(product_.k);
  const std::vector<int64_t> parts = parts_of_product(stage_, roles_, processors_of(k_.target), std::ranges::max(terms),
                                                      fills() ? Ends::kFilled : Ends::kWhole);
  const bool few = choose_parts(parts);
  if (few && terms.size() > 2) terms.pop_back();
  k_.cfg.define_knob_json(knob("tile"), tiles());
  k_.cfg.define_knob(knob("terms"), terms);
  k_.cfg.define_knob(knob("stages"), few ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{3, 4, 2, 1});
}

// The innermost of them.
std::string WarpContraction::bind_blocks(const std::string& name, const Stage& stage,
                                         const std::vector<std::string>& outer) {
  const Axis &rows = row_of(stage), &columns = column_of(stage);
  return bind_tiles(
      k_, name, outer, rows.name + ".o", columns.name + ".o",
      {stage.elements / rows.extent / columns.extent * parts_, rows.extent, has_lines() ? 1 : product_.m});
}

// Of the parts of warps a lane takes neighbours in each row.
void WarpContraction::tile_epilogue() {
  const std::string& name = root_.name;
  const std::string i = row_of(root_).name, j = column_of(root_).name;
  const std::string row = split(name, split(name, i, tile(0)), tile(2));
  const std::string part = split(name, split(name, j, tile(1)), tile(3));
  const std::string column = split(name, part, tile(4));
  std::vector<std::string> outer = outer_axes(root_), order;
  std::string line, lines;
  if (has_lines()) {
    lines = split(name, line_of(root_), tile(5));
    line = split(name, lines, tile(6));
    outer.push_back(line_of(root_) + ".o");
  }
  order = outer;
  order.insert(order.end(), {i + ".o", j + ".o"});
  if (has_lines()) order.push_back(lines + ".o");
  order.insert(order.end(), {i + ".i.o", j + ".i.o"});
  if (has_lines()) order.push_back(line);
  order.insert(order.end(), {row, part + ".o", column});
  k_.reorder(name, order);
  k_.step(schedule::Vectorize{name, column});
  const std::string tile_of_block = bind_blocks(name, root_, outer);
  k_.bind(name, parts(name, lines, i + ".i.o"), "threadIdx.z");
  k_.bind(name, j + ".i.o", "threadIdx.y");
  k_.bind(name, part + ".o", "threadIdx.x");
  k_.step(schedule::SetScope{stage_.name, ir::Scope::kShared});
  k_.step(schedule::ComputeAt{stage_.name, name, tile_of_block});
}

void WarpContraction::tile_sums() {
  const std::string& name = tiled_.stage;
  std::string i = row_of(stage_).name, j = column_of(stage_).name;
  std::vector<std::string> outer = tiled_.outer, order;
  std::string lines = has_lines() ? line_of(stage_) : "", line;
  if (at_root() && has_lines()) {
    outer.push_back(lines + ".o");
    lines = split(name, lines, tile(5));
  }
  order = outer;
  if (at_root()) {
    order.insert(order.end(), {i + ".o", j + ".o"});
    i = split(name, i, tile(0));
    j = split(name, j, tile(1));
  }
  if (has_lines()) line = split(name, lines, tile(6));
  const std::string part_rows = split(name, i, tile(2)), part_columns = split(name, j, tile(3));
  const std::string row = product(part_rows, product_.m, row_of(stage_)),
                    column = product(part_columns, product_.n, column_of(stage_));
  if (has_lines()) order.push_back(lines + ".o");
  order.insert(order.end(), {i + ".o", j + ".o"});
  std::vector<std::string> sums = tiled_.terms;
  const std::string last = sums.back(), inner = split(name, last, factor("terms"));
  const std::string term = product(inner, product_.k, stage_.sums.back());
  sums.back() = last + ".o";
  order.insert(order.end(), sums.begin(), sums.end());
  order.push_back(inner + ".o");
  if (has_lines()) order.push_back(line);
  order.insert(order.end(), {part_rows + ".o", part_columns + ".o", row, column, term});
  k_.reorder(name, order);
  terms_ = k_.fuse(name, sums);
  k_.step(schedule::Unroll{name, inner + ".o"});  // fragments of the next products are read meanwhile
  if (at_root()) bind_blocks(name, stage_, outer);
  k_.bind(name, parts(name, lines, i + ".o"), "threadIdx.z");
  k_.bind(name, j + ".o", "threadIdx.y");
  k_.step(schedule::Tensorize{name, row, std::string(product_.name)});
}

}  // namespace

std::optional<Group> match_device_warps(const Graph& graph, int root) {
  std::optional<Group> group = match_device_contraction(graph, root);
  return group && product_of(graph, *group) ? group : std::nullopt;
}

void apply_device_warps(Sketch& sketch, const Group& group) { WarpContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
