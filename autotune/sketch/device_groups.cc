// Matrix products by four warps together: a block computes a tile of the result from tiles of both operands in swizzled
// shared memory, each four warps of it 64 rows.
//
//   blockIdx.x outer, i.o, j.o, one tile for each block or one after the other: threadIdx.y i.i.o:
//     for k.o, pipelined, by four more warps where these are worth it:
//       the tiles of both operands, which the device copies where it can
//       for k.i.o: a product of four warps, whose threads are threadIdx.x
//     the outputs by the lane map
//
// Blocks of neighbouring tiles may be a cluster, and bring each other parts of the operand that both read.
//
// Of few tiles blocks share the terms (device_parts.cc). Only of operands that are read in place, and where nothing
// follows the sums. Tiles reach past the end where boxes of both operands bring zeros (schedule/filled.h).
#include <algorithm>
#include <array>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/device.h"
#include "schedule/loop_nest.h"
#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kLine = 128;  // bytes of an operand's line in shared memory, or half, or a quarter of that
constexpr int kLeastColumns = 8;

struct Tile {
  int64_t rows, columns;  // of a block
};
constexpr Tile kTiles[] = {{128, 128}, {128, 256}, {256, 128}, {128, 64}, {64, 128}, {64, 256},
                           {256, 64},  {64, 64},   {64, 32},   {64, 16},  {64, 8}};

constexpr int64_t kCluster = 2;                  // blocks
constexpr int64_t kEachTile = int64_t{1} << 30;  // blocks: as many as there are tiles

// How the last two dimensions of an operand go.
enum class Along : uint8_t { kNothing, kTerms, kAcross };

Along along(const Access& read, const Axis& across, const Axis& terms) {
  const std::vector<ir::Expr>& at = read.at();
  const auto is = [](const ir::Expr& e, const Axis& axis) {
    const auto* var = ir::as<ir::VarRef>(e);
    return var && var->var == axis.var;
  };
  if (at.size() < 2) return Along::kNothing;
  for (size_t d = 0; d + 2 < at.size(); ++d)
    if (ir::uses_var(at[d], across.var) || ir::uses_var(at[d], terms.var)) return Along::kNothing;
  const ir::Expr &last = at.back(), &line = at[at.size() - 2];
  if (is(last, terms) && is(line, across)) return Along::kTerms;
  return is(last, across) && is(line, terms) ? Along::kAcross : Along::kNothing;
}

struct Form {
  const ir::WarpProduct* product = nullptr;  // of the fewest columns
  Along left = Along::kNothing, right = Along::kNothing;
  std::vector<Tile> tiles;
  int64_t terms = 0;
  bool filled = false;  // past the ends
  bool boxes = false;   // one ring of them, for both operands
};

constexpr double kMostPastEnd = 1.5;  // times the result, of all tiles together

// Whether boxes bring zeros past the ends of the operand: its rows begin at multiples of 16 bytes.
bool comes_in_boxes(const Stage& source) {
  return source.type.bytes() > 0 && source.shape.back() * source.type.bytes() % ir::kBoxUnit == 0;
}

double past_end(int64_t extent, int64_t part) {
  return static_cast<double>((extent + part - 1) / part * part) / static_cast<double>(extent);
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
  const bool filled = roles.broadcast.source != roles.vectors.source &&
                      comes_in_boxes(graph.at(roles.broadcast.source)) &&
                      comes_in_boxes(graph.at(roles.vectors.source));
  for (const ir::WarpProduct& p : ir::group_products())
    if (p.n == kLeastColumns && !form.product)
      form.product = product_for(graph, stage, roles, {&p, 1}, filled ? Ends::kFilled : Ends::kWhole);
  if (!form.product) return std::nullopt;
  const Axis &rows = stage.data[static_cast<size_t>(roles.rows)],
             &columns = stage.data[static_cast<size_t>(roles.lanes)];
  form.left = along(*roles.broadcast.read, rows, stage.sums.back());
  form.right = along(*roles.vectors.read, columns, stage.sums.back());
  const int bytes = form.product->operand.bytes();
  const auto fits = [&](Along a) { return a == Along::kTerms || (a == Along::kAcross && bytes == 2); };
  if (!fits(form.left) || !fits(form.right)) return std::nullopt;
  for (const Tile& tile : tiles_of(rows.extent, columns.extent, filled))
    if (form.right == Along::kTerms || tile.columns * bytes >= kLine / 4) form.tiles.push_back(tile);
  const int64_t terms = stage.sums.back().extent;
  for (int64_t line = kLine; line / bytes >= form.product->k; line /= 2)
    if (form.terms == 0 && terms % (line / bytes) == 0) form.terms = line / bytes;
  if (filled && form.terms == 0 && terms >= kLine / bytes) form.terms = kLine / bytes;
  form.filled = filled;
  form.boxes = filled && form.product->operand != form.product->sum && stage.sums.size() == 1 &&
               stage.sums.back().extent > form.terms;
  if (form.tiles.empty() || form.terms == 0) return std::nullopt;
  return form;
}

class GroupContraction {
 public:
  GroupContraction(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        roles_(*roles_of(sketch.graph, group.anchor)),
        form_(*form_of(sketch.graph, stage_, roles_)),
        sums_(whole_sums(stage_, roles_)) {}

  void run() {
    std::vector<std::string> tiles;
    for (const Tile& tile : form_.tiles)
      tiles.push_back("[" + std::to_string(tile.rows) + "," + std::to_string(tile.columns) + "]");
    const int64_t processors = processors_of(k_.target);
    const std::vector<int64_t> parts =
        parts_of_product(stage_, roles_, processors, form_.terms, form_.filled ? Ends::kFilled : Ends::kWhole);
    few_ = parts.size() > 1;
    if (few_) k_.cfg.define_knob(knob("parts"), parts);
    k_.cfg.define_knob_json(knob("tile"), tiles);
    k_.cfg.define_knob(knob("stages"), std::vector<int64_t>{4, 3, 2});
    const bool clusters = !few_ && form_.boxes;
    if (clusters) k_.cfg.define_knob(knob("cluster"), std::vector<int64_t>{1, kCluster});
    cluster_ = clusters && k_.cfg.value(knob("cluster")) > 1;
    std::vector<int64_t> blocks{kEachTile, processors, 2 * processors};
    if (clusters) blocks.pop_back();
    if (!few_) k_.cfg.define_knob(knob("blocks"), blocks);
    const int64_t shared = few_ ? k_.cfg.value(knob("parts")) : 1;
    if (shared > 1) sums_ = parts_of_sums(k_, stage_, roles_, shared, form_.terms);
    const std::vector<std::string> copies = share_operands(k_, group_, roles_, sums_.stage);
    const std::string terms = tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, sums_.stage, terms});
      k_.step(schedule::Swizzle{copy, "auto"});
    }
    k_.step(schedule::Pipeline{sums_.stage, terms, k_.cfg.factor(knob("stages")), "auto"});
    if (form_.boxes) k_.cfg.define_knob(knob("producer"), std::vector<int64_t>{0, 1});
    const bool several = stage_.sums.back().extent > shared * form_.terms;  // tiles, of which some come ahead
    if (form_.boxes && several && k_.cfg.value(knob("producer")) == 1)
      k_.step(schedule::Roles{sums_.stage, 1, {}, 0, 0});
    if (shared > 1) add_parts(k_, group_);
  }

 private:
  std::string knob(const char* what) const { return stage_.name + "." + what; }
  std::string split(const std::string& loop, schedule::Factor by) {
    k_.step(schedule::Split{sums_.stage, loop, std::move(by), {}, ir::Tail::kAuto});
    return loop + ".i";
  }
  const Axis& row_axis() const { return stage_.data[static_cast<size_t>(roles_.rows)]; }
  const Axis& column_axis() const { return stage_.data[static_cast<size_t>(roles_.lanes)]; }
  std::string tile_sums();

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Roles roles_;
  const Form form_;
  TiledSums sums_;
  bool few_ = false;  // tiles
  bool cluster_ = false;
};

// The loop over tiles of terms.
std::string GroupContraction::tile_sums() {
  const std::string& name = sums_.stage;
  std::vector<std::string> order = sums_.outer;
  if (roles_.share >= 0) order.push_back(stage_.data[static_cast<size_t>(roles_.share)].name);
  const std::string i = row_axis().name, j = column_axis().name;
  const int64_t rows = k_.cfg.value(knob("tile"), 0), columns = k_.cfg.value(knob("tile"), 1);
  const std::string row = split(split(i, k_.cfg.factor(knob("tile"), 0)), form_.product->m);
  const std::string column = split(j, k_.cfg.factor(knob("tile"), 1));
  std::string row_tile = i + ".o", column_tile = j + ".o", beside;
  if (cluster_) {  // along the shorter side of a tile, where there are two: the longer operand is the one of both
    const bool several_rows = row_axis().extent > rows, several_columns = column_axis().extent > columns;
    std::string& tile = several_columns && (rows > columns || !several_rows) ? column_tile : row_tile;
    beside = split(tile, kCluster);
    tile += ".o";
  }
  order.insert(order.end(), {row_tile, column_tile});
  const std::vector<std::string> tiles = order;
  if (cluster_) order.insert(order.begin(), beside);
  order.push_back(i + ".i.o");
  order.insert(order.end(), sums_.terms.begin(), sums_.terms.end());
  const std::string last = order.back(), inner = split(last, form_.terms), term = split(inner, form_.product->k);
  order.back() = last + ".o";
  order.insert(order.end(), {inner + ".o", row, column, term});
  k_.reorder(name, order);
  const std::string tile = k_.fuse(name, tiles);
  k_.bind(name, tile, "blockIdx.x");
  if (cluster_) {
    k_.bind(name, beside, "blockIdx.y");
    k_.step(schedule::Cluster{name, beside});
    const int64_t blocks = k_.cfg.value(knob("blocks"));
    k_.step(schedule::Persistent{name, tile, blocks == kEachTile ? blocks : blocks / kCluster});
  } else {
    k_.step(schedule::Persistent{name, tile, few_ ? schedule::Factor(kEachTile) : k_.cfg.factor(knob("blocks"))});
  }
  k_.bind(name, i + ".i.o", "threadIdx.y");
  std::string product(form_.product->name);
  product.replace(product.find("n8"), 2, "n" + std::to_string(columns));
  k_.step(schedule::Tensorize{name, row, product});
  return last + ".o";
}

}  // namespace

std::optional<Group> match_device_groups(const Graph& graph, int root) {
  std::optional<Group> group = match_device_contraction(graph, root);
  if (!group || group->anchor != group->root ||
      !form_of(graph, graph.at(group->anchor), *roles_of(graph, group->anchor)))
    return std::nullopt;
  return group;
}

void apply_device_groups(Sketch& sketch, const Group& group) { GroupContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
