// Matrix products by four warps together: a block computes a tile of the result from tiles of both operands in swizzled
// shared memory, each four warps of it 64 rows.
//
//   blockIdx.x outer, i.o, j.o, one tile for each block or one after the other: threadIdx.y i.i.o:
//     for k.o, pipelined, by four more warps where these are worth it:
//       the tiles of both operands, which the device copies where it can
//       for k.i.o: a product of four warps, whose threads are threadIdx.x
//     the outputs by the lane map: what follows the sums each lane computes of its own, which stay in registers
//
// What follows may be stored in shared memory first, from which all threads copy rows to the output by whole vectors:
// of elements of two bytes a row of the lane map is half of what memory takes at once.
//
// Operands that te.tf32 rounds are rounded on their way there, or before by launches of their own: then the device
// copies them too. Those that lie across the terms are turned on that way, which tensor cores ask for; of products that
// are worth it.
//
// Of few tiles blocks share the terms (device_parts.cc). Only of operands that are read in place. Tiles reach past the
// end where boxes of both operands bring zeros (schedule/filled.h).
#include <algorithm>
#include <array>

#include "autotune/sketch/device_product.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16, kThreads = 128;  // those of a product
constexpr int64_t kLine = 128;  // bytes of an operand's line in shared memory, or half, or a quarter of that
constexpr int kLeastColumns = 8;
constexpr int64_t kRoundedAtOnce = 4, kRounding = 256;  // elements of a thread; threads
constexpr int64_t kSector = 8;                          // elements that memory takes at once
constexpr int64_t kLeastTurned = int64_t{1} << 21;      // sums of a product whose operands are

struct Tile {
  int64_t rows, columns;  // of a block
};
constexpr Tile kTiles[] = {{128, 128}, {128, 256}, {256, 128}, {128, 64}, {64, 128}, {64, 256},
                           {256, 64},  {64, 64},   {64, 32},   {64, 16},  {64, 8}};

constexpr int64_t kEachTile = int64_t{1} << 30;  // blocks: as many as there are tiles

// How the last two dimensions of an operand go.
enum class Along : uint8_t { kNothing, kTerms, kAcross };

Along along(const Access& read, const Axis& across, const Axis& terms) {
  const std::vector<ir::Expr>& at = read.at();
  if (at.size() < 2) return Along::kNothing;
  for (size_t d = 0; d + 2 < at.size(); ++d)
    if (ir::uses_var(at[d], across.var) || ir::uses_var(at[d], terms.var)) return Along::kNothing;
  const ir::Expr &last = at.back(), &line = at[at.size() - 2];
  if (is_axis(last, terms) && is_axis(line, across)) return Along::kTerms;
  return is_axis(last, across) && is_axis(line, terms) ? Along::kAcross : Along::kNothing;
}

struct Form {
  const ir::WarpProduct* product = nullptr;  // of the fewest columns
  Along left = Along::kNothing, right = Along::kNothing;
  std::vector<Tile> tiles;
  int64_t terms = 0;
  bool filled = false;  // past the ends
  bool rounds = false;  // what boxes could bring
  bool turns = false;   // such an operand
  bool boxes = false;   // one ring of them, for both operands
};

// Whether boxes bring zeros past the ends of the operand: its rows begin at multiples of 16 bytes.
bool comes_in_boxes(const Stage& source) {
  return source.type.bytes() > 0 && source.shape.back() * source.type.bytes() % ir::kBoxUnit == 0;
}

// Those that divide the result first, then, of operands that are filled with zeros past their ends, those that do not.
std::vector<Tile> tiles_of(int64_t rows, int64_t columns, bool filled) {
  std::vector<Tile> tiles, others;
  for (const Tile& tile : kTiles) {
    const double all = past_end(rows, tile.rows) * past_end(columns, tile.columns);
    if (all == 1)
      tiles.push_back(tile);
    else if (filled && tile.rows <= rows && tile.columns <= columns && all <= kMostPastEnd)
      others.push_back(tile);
  }
  tiles.insert(tiles.end(), others.begin(), others.end());
  return tiles;
}

// Operands across the terms have whole lines in a tile.
std::optional<Form> form_of(const Graph& graph, const Stage& stage, const Roles& roles) {
  Form form;
  if (roles.broadcast.through >= 0 || roles.vectors.through >= 0) return std::nullopt;
  const bool filled =
      comes_in_boxes(graph.at(roles.broadcast.source)) && comes_in_boxes(graph.at(roles.vectors.source));
  for (const ir::WarpProduct& p : ir::group_products())
    if (p.n == kLeastColumns && !form.product)
      form.product = product_for(graph, stage, roles, {&p, 1}, filled ? Ends::kFilled : Ends::kWhole);
  if (!form.product) return std::nullopt;
  const Axis &rows = stage.data[static_cast<size_t>(roles.rows)],
             &columns = stage.data[static_cast<size_t>(roles.lanes)];
  form.left = along(*roles.broadcast.read, rows, stage.sums.back());
  form.right = along(*roles.vectors.read, columns, stage.sums.back());
  const int bytes = form.product->operand.bytes();
  const bool rounds = form.product->operand == form.product->sum, turns = filled && rounds && stage.sums.size() == 1 &&
                                                                          stage.sums.back().extent % kSector == 0 &&
                                                                          rows.extent * columns.extent >= kLeastTurned;
  const auto fits = [&](Along a) { return a == Along::kTerms || (a == Along::kAcross && (bytes == 2 || turns)); };
  if (!fits(form.left) || !fits(form.right)) return std::nullopt;
  for (const Tile& tile : tiles_of(rows.extent, columns.extent, filled))
    if (roles.row_group % tile.rows == 0 && (form.right == Along::kTerms || tile.columns * bytes >= kLine / 4))
      form.tiles.push_back(tile);
  const int64_t terms = stage.sums.back().extent;
  for (int64_t line = kLine; line / bytes >= form.product->k; line /= 2)
    if (form.terms == 0 && terms % (line / bytes) == 0) form.terms = line / bytes;
  if (filled && form.terms == 0 && terms >= kLine / bytes) form.terms = kLine / bytes;
  form.filled = filled;
  const bool one_ring = filled && stage.sums.size() == 1 && stage.sums.back().extent > form.terms;
  form.rounds = one_ring && rounds;
  form.boxes = one_ring && !form.rounds;
  form.turns = turns && (form.left == Along::kAcross || form.right == Along::kAcross);
  if (form.tiles.empty() || form.terms == 0 || (form.turns && !form.rounds)) return std::nullopt;
  return form;
}

class GroupContraction : DeviceProduct {
 public:
  GroupContraction(Sketch& sketch, const Group& group)
      : DeviceProduct(sketch, group), form_(*form_of(sketch.graph, stage_, roles_)) {}

  void run() {
    std::vector<std::string> tiles;
    for (const Tile& tile : form_.tiles)
      tiles.push_back("[" + std::to_string(tile.rows) + "," + std::to_string(tile.columns) + "]");
    const int64_t processors = processors_of(k_.target);
    const std::vector<int64_t> parts =
        parts_of_product(stage_, roles_, processors, form_.terms, form_.filled ? Ends::kFilled : Ends::kWhole);
    few_ = choose_parts(parts);
    k_.cfg.define_knob_json(knob("tile"), tiles);
    k_.cfg.define_knob(knob("stages"), std::vector<int64_t>{4, 3, 2});
    std::vector<int64_t> blocks{kEachTile, processors, 2 * processors};
    if (form_.boxes) blocks.pop_back();
    if (!few_) k_.cfg.define_knob(knob("blocks"), blocks);
    if (form_.rounds && !form_.turns && !few_) k_.cfg.define_knob(knob("rounded"), std::vector<int64_t>{0, 1});
    rounded_ = form_.turns || (form_.rounds && !few_ && value("rounded") == 1);
    const std::string apart = read_apart(k_, group_, roles_);
    if (parts_ > 1) tiled_ = parts_of_sums(k_, stage_, roles_, parts_, form_.terms);
    const bool staged = !at_root() && is_staged();
    const std::vector<std::string> copies =
        rounded_ ? share_rounded(apart) : share_operands(k_, group_, roles_, tiled_.stage, apart);
    if (staged)
      stage_epilogue();
    else if (!at_root())
      tile_epilogue();
    const std::string terms = tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, tiled_.stage, terms});
      k_.step(schedule::Swizzle{copy, "auto"});
    }
    k_.step(schedule::Pipeline{tiled_.stage, terms, factor("stages"), "auto"});
    const bool roles = form_.boxes && &stage_ == &root_;
    if (roles) k_.cfg.define_knob(knob("producer"), std::vector<int64_t>{0, 1});
    const bool several = stage_.sums.back().extent > parts_ * form_.terms;  // tiles, of which some come ahead
    if (roles && several && value("producer") == 1) k_.step(schedule::Roles{tiled_.stage, 1, {}, 0, 0});
    if (parts_ > 1) add_parts(k_, group_);
  }

 private:
  // The axes of the root whose tiles are not of the product.
  std::vector<std::string> outer_of_root() const {
    std::vector<std::string> outer = outer_axes(root_);
    if (has_lines()) outer.push_back(line_of(root_));
    return outer;
  }
  std::vector<std::string> share_rounded(const std::string& apart);
  bool is_staged();
  std::string bind_blocks(const std::string& stage, const std::vector<std::string>& tiles);
  void tile_epilogue();
  void stage_epilogue();
  void compute_by_lanes(const std::string& name, const std::string& rows, const std::string& columns,
                        const std::vector<std::string>& tiles);
  std::string tile_sums();

  const Form form_;
  bool few_ = false;      // tiles
  bool rounded_ = false;  // before the product begins
};

// The loop of a block's tile.
std::string GroupContraction::bind_blocks(const std::string& stage, const std::vector<std::string>& tiles) {
  const std::string tile = k_.fuse(stage, tiles);
  k_.bind(stage, tile, "blockIdx.x");
  k_.step(schedule::Persistent{stage, tile, few_ ? schedule::Factor(kEachTile) : factor("blocks")});
  return tile + ".i";
}

// Where rows of the output are whole vectors; tiles of which four warps have fewer vectors than threads are not.
bool GroupContraction::is_staged() {
  const int64_t columns = root_.data[static_cast<size_t>(roles_.lanes)].extent;
  std::vector<int64_t> values{0};
  if (!root_.type.is_packed() && columns * root_.type.bytes() % kVectorBytes == 0)
    values.insert(root_.type.bytes() < 4 ? values.begin() : values.end(), 1);
  k_.cfg.define_knob(knob("staged"), values);
  const int64_t vectors = form_.product->m * value("tile", 1) * root_.type.bytes() / kVectorBytes;
  return value("staged") == 1 && vectors >= kThreads;
}

void GroupContraction::tile_epilogue() {
  const std::string &name = root_.name, i = row_of(root_).name, j = column_of(root_).name;
  const std::string row = split(name, i, tile(0)), column = split(name, j, tile(1));
  std::vector<std::string> tiles = outer_of_root();
  tiles.insert(tiles.end(), {i + ".o", j + ".o"});
  compute_by_lanes(name, row, column, tiles);
}

// Of what is turned a thread reads a column of neighbours, whose rows it then stores by whole vectors.
std::vector<std::string> GroupContraction::share_rounded(const std::string& apart) {
  std::vector<std::string> copies;
  for (const Operand* operand : {&roles_.broadcast, &roles_.vectors}) {
    const bool turned = (operand == &roles_.broadcast ? form_.left : form_.right) == Along::kAcross;
    const std::string& name = k_.graph.at(operand->source).name;
    const std::string& reader = operand == &roles_.broadcast && !apart.empty() ? apart : tiled_.stage;
    std::vector<std::string> axes;
    for (size_t d = 0; turned && d < operand->read->at().size(); ++d) axes.push_back("ax" + std::to_string(d));
    if (turned) std::swap(axes[axes.size() - 2], axes.back());
    const std::string rounded = k_.cache_read(name, {reader}, ir::Scope::kGlobal, axes);
    std::vector<std::string> loops = data_loops(k_.s, rounded);
    const std::string last = loops.back(), sector = turned ? split(rounded, last, kSector) : last,
                      element = split(rounded, sector, kRoundedAtOnce);
    loops.back() = last + ".o";
    if (turned) std::swap(loops[loops.size() - 2], loops.back());
    std::vector<std::string> order = loops;
    if (turned) order.push_back(sector + ".o");
    order.push_back(element);
    k_.reorder(rounded, order);
    const std::string all = k_.fuse(rounded, loops);
    share(k_, rounded, all, kRounding);
    k_.bind(rounded, all + ".o", "blockIdx.x");
    if (turned) k_.step(schedule::Unroll{rounded, sector + ".o"});
    k_.step(schedule::Vectorize{rounded, element});
    copies.push_back(k_.cache_read(rounded, {reader}, ir::Scope::kShared));
  }
  if (!apart.empty()) k_.step(schedule::ComputeInline{apart});
  return copies;
}

// Its loops are those by which the lanes have the sums: a warp's 16 rows, of which a lane has one and that eight below,
// and of each 8 columns two neighbours.
void GroupContraction::compute_by_lanes(const std::string& name, const std::string& rows, const std::string& columns,
                                        const std::vector<std::string>& tiles) {
  constexpr int64_t kRowsOfWarp = 16, kRowsOfEight = 8, kColumnsOfEight = 8, kColumnsOfLane = 2;
  const std::string warp = split(name, rows, form_.product->m), half = split(name, warp, kRowsOfWarp),
                    row = split(name, half, kRowsOfEight);
  const std::string pair = split(name, columns, kColumnsOfEight), column = split(name, pair, kColumnsOfLane);
  const std::vector<std::string> lanes = {warp + ".o", row, pair + ".o"};
  std::vector<std::string> order = tiles;
  order.push_back(rows + ".o");
  order.insert(order.end(), lanes.begin(), lanes.end());
  order.insert(order.end(), {columns + ".o", half + ".o", column});
  k_.reorder(name, order);
  if (!tiles.empty()) bind_blocks(name, tiles);
  k_.bind(name, rows + ".o", "threadIdx.y");
  k_.bind(name, k_.fuse(name, lanes), "threadIdx.x");
  k_.step(schedule::Vectorize{name, column});
  k_.step(schedule::SetScope{stage_.name, ir::Scope::kWarp});
  k_.step(schedule::ComputeAt{stage_.name, name, rows + ".o"});
}

// All threads copy the tile, whose rows in shared memory are 16 bytes longer: eight of them lie in different banks.
void GroupContraction::stage_epilogue() {
  const std::string &name = root_.name, i = row_of(root_).name, j = column_of(root_).name;
  const int64_t bytes = root_.type.bytes(), rows = value("tile", 0), columns = value("tile", 1),
                lanes = kVectorBytes / bytes;
  const std::string kept = k_.cache_write(name, ir::Scope::kShared);

  const std::string row = split(name, i, rows), lane = split(name, j, lanes),
                    vector = split(name, j + ".o", columns / lanes);
  std::vector<std::string> tiles = outer_of_root();
  tiles.insert(tiles.end(), {i + ".o", j + ".o.o"});
  const std::string near = split(name, row, kThreads * lanes / columns),
                    group = split(name, row + ".o", rows / form_.product->m);
  std::vector<std::string> order = tiles;
  order.insert(order.end(), {row + ".o.o", group, near, vector, lane});
  k_.reorder(name, order);
  const std::string tile = bind_blocks(name, tiles);
  k_.step(schedule::Unroll{name, row + ".o.o"});
  k_.bind(name, group, "threadIdx.y");
  k_.bind(name, k_.fuse(name, {near, vector}), "threadIdx.x");
  k_.step(schedule::Vectorize{name, lane});

  k_.step(schedule::ComputeAt{kept, name, tile});
  const std::vector<std::string> loops = data_loops(k_.s, kept);
  const std::string &of_rows = loops[static_cast<size_t>(roles_.rows)],
                    &of_columns = loops[static_cast<size_t>(roles_.lanes)];
  k_.step(schedule::StorageAlign{kept, of_rows, kLine / bytes, kVectorBytes / bytes});
  compute_by_lanes(kept, of_rows, of_columns, {});
}

// The loop over tiles of terms.
std::string GroupContraction::tile_sums() {
  const std::string& name = tiled_.stage;
  std::vector<std::string> order = tiled_.outer;
  if (has_lines()) order.push_back(line_of(stage_));
  std::string row = row_of(stage_).name, column = column_of(stage_).name;
  const std::string group = row + ".i.o";
  if (at_root()) {
    order.insert(order.end(), {row + ".o", column + ".o"});
    row = split(name, split(name, row, tile(0)), form_.product->m);
    column = split(name, column, tile(1));
  }
  const std::vector<std::string> tiles = order;
  if (at_root()) order.push_back(group);
  order.insert(order.end(), tiled_.terms.begin(), tiled_.terms.end());
  const std::string last = order.back(), inner = split(name, last, form_.terms),
                    term = split(name, inner, form_.product->k);
  order.back() = last + ".o";
  order.insert(order.end(), {inner + ".o", row, column, term});
  k_.reorder(name, order);
  if (at_root()) {
    bind_blocks(name, tiles);
    k_.bind(name, group, "threadIdx.y");
  }
  std::string product(form_.product->name);
  product.replace(product.find("n8"), 2, "n" + std::to_string(value("tile", 1)));
  k_.step(schedule::Tensorize{name, row, product});
  return last + ".o";
}

}  // namespace

std::optional<Group> match_device_groups(const Graph& graph, int root) {
  std::optional<Group> group = match_device_contraction(graph, root);
  if (!group || (group->anchor != group->root && !reads_in_place(graph, group->root, group->anchor)) ||
      !form_of(graph, graph.at(group->anchor), *roles_of(graph, group->anchor)))
    return std::nullopt;
  return group;
}

void apply_device_groups(Sketch& sketch, const Group& group) { GroupContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
