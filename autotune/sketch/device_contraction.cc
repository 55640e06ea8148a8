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
// Where rows of an operand are of terms, its tiles lie across them in shared memory, so that what a thread reads of one
// term lies side by side there: its rows are several together then.
//
// What else a sum reads again and again, as in A[i, k] * B[j, k] + B[i, k] * A[j, k], has tiles of its own, also of a
// tensor that it reads in two ways.
//
// Of few tiles blocks share the terms (device_parts.cc). A thread's rows, and its columns by 16 bytes, lie as far apart
// as there are threads: what a warp reads of an operand at once lies side by side, in different banks.
#include <algorithm>
#include <array>
#include <numeric>

#include "autotune/sketch/device_product.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "schedule/operands.h"
#include "src/ir/equal.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

struct Tile {
  int64_t rows, columns;                // of a block
  int64_t thread_rows, thread_columns;  // of a thread
  // Its rows and columns; of a thread how often it has rows, its columns side by side, and how often it has as many;
  // its rows side by side, where these are several. Where columns need not lie side by side, tiles of them are as even
  // as they can be.
  std::string json(int64_t widest, int64_t all_columns, int64_t tallest) const {
    const int64_t vector = std::min(thread_columns, widest);
    const int64_t tiles = (all_columns + columns - 1) / columns, each = thread_columns * tiles;
    const int64_t even = widest > 1 ? columns : (all_columns + each - 1) / each * thread_columns;
    const int64_t together = std::min(thread_rows, tallest);
    return "[" + std::to_string(rows) + "," + std::to_string(even / vector) + "," +
           std::to_string(thread_rows / together) + "," + std::to_string(vector) + "," +
           std::to_string(thread_columns / vector) + (tallest > 1 ? "," + std::to_string(together) : "") + "]";
  }
};

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMostTerms = 32, kTermsTogether = 8;  // of a tile

constexpr Tile kTiles[] = {{64, 64, 4, 4},  {128, 128, 8, 8}, {128, 64, 8, 4}, {64, 128, 4, 8},  {64, 64, 8, 4},
                           {32, 64, 2, 4},  {32, 32, 2, 4},   {64, 32, 4, 4},  {16, 64, 2, 4},   {16, 16, 1, 1},
                           {128, 32, 8, 4}, {32, 128, 4, 4},  {8, 128, 1, 4},  {128, 256, 8, 8}, {16, 32, 1, 2},
                           {64, 64, 8, 8},  {32, 64, 4, 8}};

// Of few rows, where columns are rows of an operand: a warp reads eight of these, not thirty-two.
constexpr Tile kNarrowTiles[] = {{8, 32, 1, 4}, {8, 64, 1, 8}};

// What a sum reads again along its rows or columns besides both operands. What stands apart is a stage of its own: else
// the copy of a tensor that is read in two ways would reach from the rows of the one to those of the other.
struct Again {
  const Access* read = nullptr;
  bool rows = false;       // it goes along these, not along the columns
  bool conflicts = false;  // with another copy of its tensor
  std::string apart = {};
};

// Whether it is the only read of a factor of a product that is added up.
bool is_a_factor(const ir::Expr& term, const ir::Expr& load) {
  const auto* b = ir::as<ir::Binary>(term);
  if (!b) return false;
  if (b->op == ir::BinOp::kAdd || b->op == ir::BinOp::kSub) return is_a_factor(b->a, load) || is_a_factor(b->b, load);
  if (b->op != ir::BinOp::kMul) return false;
  const auto is_it = [&](const ir::Expr& factor) {
    bool found = false, others = false;
    ir::walk(factor, [&](const ir::Expr& e) {
      if (ir::as<ir::Load>(e)) (ir::equal(e, load) ? found : others) = true;
      return true;
    });
    return found && !others;
  };
  return is_it(b->a) || is_it(b->b);
}

bool can_stand_apart(const Stage& stage, const Access& read) {
  const auto* sum = ir::as<ir::Reduce>(stage.bodies[0]);
  return std::ranges::find(stage.direct, read.stage) != stage.direct.end() && sum != nullptr &&
         is_a_factor(sum->sources[0], read.load);
}

std::vector<Again> read_again(const Graph& graph, const Stage& stage, const Roles& roles) {
  const Axis &rows = stage.data[static_cast<size_t>(roles.rows)],
             &columns = stage.data[static_cast<size_t>(roles.lanes)];
  std::vector<std::pair<int, bool>> copied{{roles.broadcast.source, true}, {roles.vectors.source, false}};
  const double least = std::min(touched(stage, *roles.broadcast.read), touched(stage, *roles.vectors.read));
  std::vector<Again> found;
  for (const Access& read : stage.reads) {
    const bool of_rows = read.uses(rows);
    const auto is_copied = [&](bool along) { return std::ranges::count(copied, std::pair(read.stage, along)) > 0; };
    if (of_rows == read.uses(columns) || !read.uses(stage.sums.back()) || is_copied(of_rows)) continue;
    const bool conflicts = is_copied(!of_rows);
    const bool large = 2 * touched(stage, read) >= least && !graph.at(read.stage).type.is_packed() &&
                       std::ranges::find(stage.direct, read.stage) != stage.direct.end();
    if (!conflicts && !large) continue;
    found.push_back({&read, of_rows, conflicts});
    if (!conflicts) copied.emplace_back(read.stage, of_rows);
  }
  return found;
}

class DeviceContraction : DeviceProduct {
 public:
  DeviceContraction(Sketch& sketch, const Group& group)
      : DeviceProduct(sketch, group),
        axes_{axes_across(roles_.broadcast, roles_.rows), axes_across(roles_.vectors, roles_.lanes)} {}

  void run() {
    define_knobs();
    const std::string apart = read_apart(k_, group_, roles_);
    std::vector<Again> again = read_again(k_.graph, stage_, roles_);
    for (Again& other : again) set_apart(other);
    if (parts_ > 1) tiled_ = parts_of_sums(k_, stage_, roles_, parts_, unit_of_parts());
    name_ = parts_ > 1 ? tiled_.stage : root_.name;
    sums_ = at_root() ? k_.cache_write(name_) : stage_.name;
    const std::vector<std::string> copies = share_operands(k_, group_, roles_, sums_, apart, axes_);
    tile_outputs();
    tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, sums_, terms_});
      if (copies.size() < 2) continue;
      const bool first = &copy == &copies.front();
      if (!axes_[first ? 0 : 1].empty())
        lay_across(copy);
      else if (first || lies_across(*roles_.vectors.read))
        keep_apart(copy, *(first ? roles_.broadcast : roles_.vectors).read, first);
    }
    for (const Again& other : again) {
      const std::string copy = k_.cache_read(k_.graph.at(other.read->stage).name,
                                             {other.apart.empty() ? sums_ : other.apart}, ir::Scope::kShared);
      if (!other.apart.empty()) k_.step(schedule::ComputeInline{other.apart});
      k_.step(schedule::ComputeAt{copy, sums_, terms_});
      if (other.rows || lies_across(*other.read)) keep_apart(copy, *other.read, other.rows);
    }
    if (!copies.empty()) k_.step(schedule::Pipeline{sums_, terms_, factor("stages"), "auto"});
    if (parts_ > 1) add_parts(k_, group_);
  }

 private:
  std::string output_axis(int d) const { return (at_root() ? stage_ : root_).data[static_cast<size_t>(d)].name; }
  // Elements of 16 bytes of what is read along the columns. A window's columns begin anywhere, and those of a
  // transposed operand are rows of it: these are read one by one, by threads that are neighbours.
  int64_t widest() const {
    const Operand& operand = roles_.vectors;
    const bool slides = std::ranges::any_of(stage_.sums, [&](const Axis& sum) { return slides_along(operand, sum); });
    return slides || (axes_[1].empty() && lies_across(*operand.read))
               ? 1
               : std::max<int64_t>(1, kVectorBytes / bytes_of(operand));
  }
  bool lies_across(const Access& read) const {
    const std::vector<ir::Expr>& at = read.at();
    const auto uses = [&](const Axis& axis) { return ir::uses_var(at.back(), axis.var); };
    return !uses(column_of(stage_)) && std::ranges::any_of(stage_.sums, uses);
  }
  // Rows that a thread reads together.
  int64_t tallest() const { return axes_[0].empty() ? 1 : kVectorBytes / bytes_of(roles_.broadcast); }
  std::vector<std::string> axes_across(const Operand&, int axis) const;
  int64_t bytes_of(const Operand& operand) const { return k_.graph.at(source_of(operand)).type.bytes(); }
  static int source_of(const Operand& operand) { return operand.through >= 0 ? operand.through : operand.source; }
  // Terms of a tile that need no condition, hardly fewer than these; else as many.
  int64_t dividing(int64_t terms) const {
    const int64_t all = stage_.sums.back().extent, together = std::gcd(all, kTermsTogether / 2);
    int64_t fewer = terms;
    while (2 * fewer > terms && (all % fewer != 0 || fewer % together != 0)) --fewer;
    return all % fewer == 0 && fewer % together == 0 ? fewer : terms;
  }
  // Of which parts are made: terms that are read together, where rows are of these.
  int64_t unit() const { return std::gcd(stage_.sums.back().extent, kTermsTogether); }
  // Whole tiles, where these divide the terms.
  int64_t unit_of_parts() const {
    const int64_t terms = value("terms");
    return stage_.sums.back().extent % terms == 0 ? terms : unit();
  }
  bool slides_along(const Operand& operand, const Axis& sum) const {
    const ir::Expr& last = operand.read->at().back();
    return sum.extent > 1 && ir::uses_var(last, sum.var) && ir::uses_var(last, column_of(stage_).var);
  }
  // Virtual threads, and the loop that is left.
  std::string virtually(const std::string& loop, schedule::Factor threads) {
    return k_.split_in(name_, loop, std::move(threads)).inner;
  }

  void define_knobs();
  void define_terms(bool few);
  void tile_outputs();
  void tile_sums();
  void set_apart(Again&);
  void keep_apart(const std::string& copy, const Access&, bool of_rows);
  void lay_across(const std::string& copy);

  const std::array<std::vector<std::string>, 2> axes_;  // of the operands' copies, where other than they lie
  size_t whole_ = 0;                                    // of the innermost sums, those of which a tile has all terms
  std::string name_, sums_, thread_, terms_;
};

// Tiles that are at most twice the result, or the smallest.
void DeviceContraction::define_knobs() {
  const int64_t rows = row_of(stage_).extent;
  const int64_t columns = column_of(stage_).extent;
  std::vector<std::string> tiles;
  for (const Tile& tile : kTiles)
    if (tile.rows < 2 * rows && tile.columns < 2 * columns) tiles.push_back(tile.json(widest(), columns, tallest()));
  for (const Tile& tile : kNarrowTiles)
    if (lies_across(*roles_.vectors.read) && tile.rows < 2 * rows && rows < 2 * tile.rows && tile.columns < 2 * columns)
      tiles.push_back(tile.json(widest(), columns, tallest()));
  if (tiles.empty()) tiles.push_back(Tile{16, 16, 1, 1}.json(widest(), columns, tallest()));
  const std::vector<int64_t> parts = parts_of_product(stage_, roles_, processors_of(k_.target), unit(), Ends::kUneven);
  const bool few = choose_parts(parts);
  k_.cfg.define_knob_json(knob("tile"), tiles);
  define_terms(few);
  k_.cfg.define_knob(knob("stages"), few ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{2, 3, 4, 1});
}

// A tile has the short sums whole, as those over a window are, and so many terms of the next one.
void DeviceContraction::define_terms(bool few) {
  int64_t whole = 1;
  for (size_t sum = stage_.sums.size() - 1; sum > 0 && whole * stage_.sums[sum].extent <= kMostTerms; --sum, ++whole_)
    whole *= stage_.sums[sum].extent;
  std::vector<int64_t> terms;
  for (const int64_t all : few ? std::vector<int64_t>{16, 32} : std::vector<int64_t>{16, 8, 32, 4}) {
    const int64_t of_next = whole > 1 ? (all + whole - 1) / whole : dividing(all);
    if (std::ranges::find(terms, of_next) == terms.end()) terms.push_back(of_next);
  }
  k_.cfg.define_knob(knob("terms"), up_to(stage_.sums[stage_.sums.size() - 1 - whole_].extent, terms));
}

// Of products of whole tiles, whose operands are in memory as they are: elements of four bytes come one by one without
// registers.
std::vector<std::string> DeviceContraction::axes_across(const Operand& operand, int axis) const {
  constexpr int64_t kLeast = 64;  // rows and columns
  const auto extent = [&](int d) { return stage_.data[static_cast<size_t>(d)].extent; };
  if (roles_.broadcast.through >= 0 || roles_.vectors.through >= 0 || stage_.sums.size() != 1 ||
      bytes_of(operand) != 4 || extent(roles_.rows) < kLeast || extent(roles_.lanes) < kLeast)
    return {};
  const std::vector<ir::Expr>& at = operand.read->at();
  const Axis& own = stage_.data[static_cast<size_t>(axis)];
  const auto found = std::ranges::find_if(at, [&](const ir::Expr& e) { return is_axis(e, own); });
  if (found == at.end() || !is_axis(at.back(), stage_.sums.back())) return {};
  std::vector<std::string> axes;
  for (size_t d = 0; d < at.size(); ++d) axes.push_back("ax" + std::to_string(d));
  std::swap(axes[static_cast<size_t>(found - at.begin())], axes.back());
  return axes;
}

// Threads copy along the terms. What they write lies an odd number of 16 bytes apart then, in different banks.
void DeviceContraction::lay_across(const std::string& copy) {
  constexpr int64_t kBanks = 32, kApart = 4;
  std::vector<std::string> loops = data_loops(k_.s, copy);
  const size_t terms =
      static_cast<size_t>(std::ranges::find(loops, "ax" + std::to_string(loops.size() - 1)) - loops.begin());
  k_.step(schedule::StorageAlign{copy, loops[terms], kBanks, kApart});
  std::swap(loops[terms], loops.back());
  k_.reorder(copy, loops);
}

// REQUIRES: it can stand apart where it conflicts.
void DeviceContraction::set_apart(Again& other) {
  if (!other.conflicts) return;
  const auto stage = [&](const std::string& name) -> const schedule::StageNest& {
    return k_.s.nest().stage(k_.s.nest().find_stage(name));
  };
  const std::vector<ir::Expr> operands = schedule::operands_of(stage(stage_.name));
  const auto found = std::ranges::find_if(operands, [&](const ir::Expr& operand) {
    bool has = false;
    ir::walk(operand, [&](const ir::Expr& e) {
      has = has || ir::equal(e, other.read->load);
      return !has;
    });
    return has;
  });
  if (found == operands.end()) return;
  k_.step(schedule::Hoist{stage_.name, found - operands.begin(), ir::Scope::kGlobal});
  other.apart = k_.s.nest().stage(k_.s.nest().find_stage(stage_.name) - 1).name;
}

// Rows that a warp reads at once, of which eight have banks of their own: they lie an odd number of 16 bytes apart.
void DeviceContraction::keep_apart(const std::string& copy, const Access& read, bool of_rows) {
  const std::vector<ir::Expr>& at = read.at();
  const ir::Var& row = (of_rows ? row_of(stage_) : column_of(stage_)).var;
  const std::vector<std::string> loops = data_loops(k_.s, copy);
  size_t dimension = at.size();
  while (dimension > 0 && !ir::uses_var(at[dimension - 1], row)) --dimension;
  if (dimension == 0 || dimension >= loops.size()) return;
  const int64_t vector = std::max<int64_t>(1, kVectorBytes / std::max(1, k_.graph.at(read.stage).type.bytes()));
  k_.step(schedule::StorageAlign{copy, loops[dimension - 1], 2 * vector, vector});
}

void DeviceContraction::tile_outputs() {
  const std::string& name = name_;
  const std::string i = output_axis(roles_.rows), j = output_axis(roles_.lanes);
  const std::string rows_of_tile = split(name, i, tile(0)),
                    together = tallest() > 1 ? split(name, rows_of_tile, tile(5)) : "",
                    rows = together.empty() ? rows_of_tile : rows_of_tile + ".o", row = virtually(rows, tile(2));
  // Vectors first: of rows that are whole ones none is cut.
  const std::string column = split(name, j, tile(3)), vectors = j + ".o";
  const std::string columns = split(name, vectors, tile(1));
  thread_ = virtually(columns, tile(4));
  std::vector<std::string> outer;
  if (parts_ > 1) outer.push_back(tiled_.outer.front());
  for (int d : roles_.outer) outer.push_back(output_axis(d));
  if (roles_.share >= 0) outer.push_back(output_axis(roles_.share));
  std::vector<std::string> order = outer;
  order.insert(order.end(), {i + ".o", vectors + ".o", rows + ".o", columns + ".o", row, thread_});
  if (!together.empty()) order.push_back(together);
  order.push_back(column);
  k_.reorder(name, order);
  k_.step(schedule::Vectorize{name, column});
  const int64_t in_rows = row_of(stage_).extent;
  const int64_t in_columns = column_of(stage_).extent;
  const int64_t outside = in_rows * in_columns == 0 ? 0 : stage_.elements / in_rows / in_columns * parts_;
  bind_tiles(k_, name, outer, i + ".o", vectors + ".o",
             {outside, in_rows, std::ranges::min(kTiles, {}, &Tile::rows).rows});
  k_.bind(name, rows + ".o", "vthread");
  k_.bind(name, columns + ".o", "vthread");
  k_.bind(name, row, "threadIdx.y");
  k_.bind(name, thread_, "threadIdx.x");
}

void DeviceContraction::tile_sums() {
  k_.step(schedule::ComputeAt{sums_, name_, thread_});
  std::vector<std::string> order = tiled_.terms;
  const auto next = order.end() - 1 - static_cast<ptrdiff_t>(whole_);
  std::vector<std::string> inner{split(sums_, *next, factor("terms"))};
  inner.insert(inner.end(), next + 1, order.end());
  terms_ = *next + ".o";
  order.erase(next, order.end());
  order.push_back(terms_);
  order.insert(order.end(), inner.begin(), inner.end());
  if (parts_ > 1) order.push_back(tiled_.outer.front());
  for (int d = 0; d < static_cast<int>(stage_.data.size()); ++d)
    if (d != roles_.rows && d != roles_.lanes) order.push_back(stage_.data[static_cast<size_t>(d)].name);
  // Of the whole domain the columns would be too long to be written out.
  const std::string i = row_of(stage_).name, j = column_of(stage_).name;
  const std::string column = split(sums_, j, tile(3));
  order.insert(order.end(), {i, j + ".o", column});
  k_.reorder(sums_, order);
  for (const std::string& terms : inner)  // an operand's next ones lie side by side, and are read together
    k_.step(schedule::Unroll{sums_, terms});
  if (tallest() > 1) k_.step(schedule::Unroll{sums_, i});
  k_.step(schedule::Vectorize{sums_, column});
}

}  // namespace

std::optional<Group> match_device_contraction(const Graph& graph, int root) {
  std::optional<Group> group = match_contraction(graph, root);
  if (!group || !roles_of(graph, group->anchor)) return std::nullopt;
  const Roles roles = *roles_of(graph, group->anchor);
  const Stage& stage = graph.at(group->anchor);
  for (const Again& other : read_again(graph, stage, roles))
    if (other.conflicts && !can_stand_apart(stage, *other.read)) return std::nullopt;
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
