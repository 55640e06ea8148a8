// Which axis is what in a contraction, and which register tiles suit it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"
#include "schedule/operands.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

// The stage that the contraction itself reads where the operand is meant.
Operand operand_of(const Graph& graph, int contraction, const Access& read) {
  const Stage& stage = graph.at(contraction);
  Operand operand{read.stage, -1, &read};
  if (const Stage& source = graph.at(read.stage); source.prologue && source.readers == std::vector<int>{contraction})
    operand.through = read.stage;
  for (int direct : stage.direct) {
    if (direct == read.stage) return operand;
    const std::vector<int>& sources = graph.at(direct).sources;
    if (std::find(sources.begin(), sources.end(), read.stage) != sources.end()) operand.through = direct;
  }
  return operand;
}

}  // namespace

int dimension_of(const Access& read, const Axis& axis) { return schedule::place_of(read.at(), axis.var); }

constexpr int kAhead = 2;  // registers of the next term

constexpr int64_t kLaneProductBits = 128, kLeastBits = 16;  // of a register whose lanes are factors, of a lane

// Along the rows its neighbours are of one term; a register of four terms is held for each row. A lane of a dot product
// is a group of terms.
Registers registers_of(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target,
                       const std::optional<Dot>& dot) {
  const Abilities& has = target.abilities;
  if (dot && dot->is_tile()) {
    constexpr int64_t kSums = 4;  // registers that are theirs, where tiles have fewer terms than rows hold
    const bool whole = dot->group * dot->left.bytes() == has.tiles->row_bytes;
    return {has.tiles->registers, 1, whole ? 30 : kSums, dot->rows, dot->lanes, true};
  }
  if (dot && dot->rows > 1) return {has.vector_registers, 1, 30, dot->rows, dot->lanes};
  if (dot) {
    const bool four = has.lane_products > 0 && dot->terms >= dot->lanes * dot->group;
    const int registers = has.vector_registers - has.dot_registers(dot->product);
    if (four) return {registers, dot->lanes, has.vector_registers / 2};
    return {registers};
  }
  const int64_t held = kLaneProductBits / std::max<int64_t>(kLeastBits, stage.type.bits);
  const Access& read = *roles.broadcast.read;
  const bool terms =
      !stage.sums.empty() && stage.sums.back().extent >= held && stride_along(read, stage.sums.back()) == 1;
  const bool rows = stride_along(read, stage.data[static_cast<size_t>(roles.rows)]) == 1;
  Registers registers{has.vector_registers};
  const int64_t left = stage.data[static_cast<size_t>(roles.lanes)].extent % lanes_of(stage, target);
  const int64_t more = !has.masks && roles.group == 0 ? std::max(0, std::popcount(static_cast<uint64_t>(left)) - 1) : 0;
  if (has.lane_products > 0 && roles.group == 0 && (terms || rows)) {
    // Where few registers have lanes, one that gives way to the next term's vectors goes to the stack.
    const int ahead = has.lane_products < has.vector_registers ? kAhead : 0;
    registers = {has.vector_registers - ahead, held, std::min(has.lane_products, has.vector_registers / 2)};
  }
  if (!pads_lanes(graph, stage, roles, target)) registers.more_at_end = more;
  registers.row_group = roles.row_group;
  if (const int64_t apart = bytes_between(graph, read, stage.data[static_cast<size_t>(roles.rows)]); apart > 0)
    registers.sets = kL1WayBytes / std::gcd(apart, kL1WayBytes);
  return registers;
}

bool ends_in_vectors(const Stage& stage, const Roles& roles, const Target& target) {
  const int64_t left = stage.data[static_cast<size_t>(roles.lanes)].extent % lanes_of(stage, target);
  return !target.abilities.masks && roles.innermost && roles.group == 0 &&
         std::popcount(static_cast<uint64_t>(left)) > 1;
}

bool pads_lanes(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target) {
  const Operand& read = roles.vectors;
  const Stage& source = graph.at(read.source);
  const bool moves = read.through >= 0 && !read.prologue() && graph.at(read.through).readers.size() == 1;
  const bool copied = roles.contiguous && roles.lane_dimension + 1 == static_cast<int>(source.shape.size()) &&
                      !source.param && read.source != roles.broadcast.source && (read.through < 0 || read.prologue());
  return (moves || copied) && ends_in_vectors(stage, roles, target);
}

namespace {

constexpr int64_t kLeastAlike = 4;  // rows of a group, to be worth a tile

// The last axis with more than one element; -1 where there is none, or where another axis has none at all.
int innermost_axis(const Stage& stage) {
  int found = -1;
  for (const std::vector<Axis>& axes : {stage.data, stage.sums})
    for (const Axis& axis : axes)
      if (axis.extent == 0) return -1;
  for (int d = 0; d < static_cast<int>(stage.data.size()); ++d)
    if (stage.data[static_cast<size_t>(d)].extent > 1) found = d;
  return found;
}

// The factors of a sum that uses none of them again.
std::optional<Product> only_product_of(const Stage& stage) {
  const auto* sum = stage.bodies.size() == 1 ? ir::as<ir::Reduce>(stage.bodies[0]) : nullptr;
  if (!sum || sum->op != ir::ReduceOp::kSum || !sum->init.empty() || stage.gathers) return std::nullopt;
  return stage.reads.size() == 2 ? std::optional(Product{0, 1}) : std::nullopt;
}

// A row may be the only one where `least_rows` is 1.
std::optional<Roles> roles_along(const Graph& graph, int contraction, int axis, int64_t least_rows = 2) {
  const Stage& stage = graph.at(contraction);
  const std::optional<Product> product = least_rows > 1 ? product_of(stage) : only_product_of(stage);
  if (!product || axis < 0) return std::nullopt;
  Roles roles;
  roles.lanes = axis;
  const Axis& lanes = stage.data[static_cast<size_t>(roles.lanes)];
  const Access *left = &stage.reads[static_cast<size_t>(product->left)],
               *right = &stage.reads[static_cast<size_t>(product->right)];
  const auto moves = [&](const Access& read) { return read.uses(lanes) && read.shared_along(lanes) == 1; };
  if (moves(*left) == moves(*right)) return std::nullopt;
  const Access &vectors = moves(*left) ? *left : *right, &broadcast = moves(*left) ? *right : *left;
  if (broadcast.uses(lanes)) roles.group = broadcast.shared_along(lanes);
  roles.vectors = operand_of(graph, contraction, vectors);
  roles.broadcast = operand_of(graph, contraction, broadcast);
  roles.lane_dimension = dimension_of(vectors, lanes);
  roles.contiguous = stride_along(vectors, lanes) == 1;
  for (int d = static_cast<int>(stage.data.size()); d-- > 0;) {
    const Axis& axis = stage.data[static_cast<size_t>(d)];
    if (d == roles.lanes) continue;
    const int64_t alike = vectors.uses(axis) ? vectors.shared_along(axis) : 0;  // rows of a group read the same
    const bool row = axis.extent >= least_rows && broadcast.uses(axis) && (!vectors.uses(axis) || alike >= kLeastAlike);
    if (row && roles.rows < 0)
      roles.rows = d, roles.row_group = alike;
    else if (row && alike == 0 && roles.share < 0)
      roles.share = d;
    else
      roles.outer.insert(roles.outer.begin(), d);
  }
  for (const Axis& axis : stage.sums) roles.terms *= axis.extent;
  for (int d : roles.outer)
    if (const Axis& axis = stage.data[static_cast<size_t>(d)]; !vectors.uses(axis)) roles.repeats *= axis.extent;
  if (roles.rows < 0) return std::nullopt;
  return roles;
}

struct Tile {
  int64_t rows, columns, lines;
  double cost;  // of all tiles together
};

// Cycles for the registers of whole tiles: a product takes one for each row of its sums, two rows of a factor are
// loaded in one.
double step_of_tiles(int64_t rows, int64_t vectors, int64_t block) {
  constexpr double kRows = 16;  // of a right factor
  if (rows == 0 || vectors == 0) return 0;
  const auto left = static_cast<double>(rows * block), right = static_cast<double>(vectors);
  const double products = left * right;
  const double loads = (left + kRows * right) / 2;
  return std::max(products, loads) + 0.1 * loads;
}

// Cycles of a core that starts two vector instructions at a time, for one term of a tile.
double step_of_vectors(int64_t rows, int64_t vectors, const Registers& registers) {
  constexpr double kLatency = 4;  // of a fused multiply-add: so many cycles until its sum can be added to again
  constexpr int64_t kWays = 8;    // of a set of the L1
  if (rows == 0 || vectors == 0) return 0;
  const double sums = static_cast<double>(rows * vectors);
  const int64_t broadcasts = (rows + registers.held - 1) / registers.held;
  const double loads = static_cast<double>(broadcasts + vectors) / 2;
  return std::max({sums / 2, loads, kLatency}) + 0.1 * loads +
         0.2 * static_cast<double>(std::max<int64_t>(0, rows - kWays * registers.sets));
}

// What is left at the edges is computed by smaller tiles, in code of its own; panels of unequal width are hard to
// share.
double cost_of(int64_t rows, int64_t vectors, int64_t all_rows, int64_t all_vectors, const Registers& registers) {
  const auto count = [](int64_t n) { return static_cast<double>(n); };
  const auto step = [&](int64_t r, int64_t v) {
    return registers.whole_tiles ? step_of_tiles(r, v, registers.block) : step_of_vectors(r, v, registers);
  };
  const auto along = [&](int64_t r) {
    const int64_t left = all_vectors % vectors, last = left == 0 ? vectors : left;
    const double end = step(r, last + registers.more_at_end) - step(r, last);
    return count(all_vectors / vectors) * step(r, vectors) + step(r, left) + end;
  };
  const double full = along(rows), edge = along(all_rows % rows);
  const double uneven = all_vectors % vectors == 0 ? 1 : 1.03;
  return uneven * (count(all_rows / rows) * full + edge);
}

// Rows of a plane, or of several lines of it together, where one has few: then a vector serves more of them.
double cost_of_lines(int64_t lines, int64_t all_lines, int64_t rows, int64_t vectors, int64_t all_vectors,
                     const Registers& registers) {
  const auto at = [&](int64_t n) { return n == 0 ? 0 : cost_of(rows * n, vectors, rows * n, all_vectors, registers); };
  const int64_t times = all_lines / lines;
  return static_cast<double>(times) * at(lines) + at(all_lines % lines);
}

// The best first.
std::vector<Tile> tiles_of(int64_t rows, int64_t columns, int64_t lanes, const Registers& registers, bool whole,
                           int64_t all_lines = 1) {
  const int64_t block = registers.block;
  if (block > 1) rows /= block, columns /= registers.block_columns, lanes = 1;
  const int64_t all_vectors = (columns + lanes - 1) / lanes;
  std::vector<Tile> tiles;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(8, all_vectors); ++vectors) {
    const int64_t wide = std::min(columns, vectors * lanes);
    const int64_t most = vectors + (vectors == all_vectors ? registers.more_at_end : 0);
    if (whole && columns % wide != 0) continue;
    for (int64_t r = 1; r <= std::min<int64_t>(rows, 30); ++r) {
      if ((block > 1 && rows % r != 0) || (registers.row_group > 0 && registers.row_group % r != 0)) continue;
      const auto fits = [&](int64_t n) {
        const int64_t broadcast = registers.held > 1 ? n : 1;
        return n * most + most + broadcast <= registers.count && n <= registers.most_rows;
      };
      if (!fits(r) && (r > 1 || registers.whole_tiles)) break;
      const int64_t tile = r * block, width = wide * registers.block_columns;
      tiles.push_back(
          {tile, width, 1, static_cast<double>(all_lines) * cost_of(r, vectors, rows, all_vectors, registers)});
      // One vector has no use of it: a tile of more vectors has as many sums.
      for (int64_t lines = 2; r == rows && vectors > 1 && lines <= all_lines && fits(r * lines); ++lines)
        tiles.push_back({tile, width, lines, cost_of_lines(lines, all_lines, rows, vectors, all_vectors, registers)});
    }
  }
  std::stable_sort(tiles.begin(), tiles.end(), [](const Tile& a, const Tile& b) { return a.cost < b.cost; });
  return tiles;
}

constexpr double kMove = 1.5;  // cycles for an element that vectors do not reach

// Cycles for an element of vectors that no copy lays side by side: each tile finds them where they lie.
double move_of_lane(const Stage& stage, const Roles& roles, const Target& target) {
  constexpr double kLoadAndSort = 2;  // of a register
  const int64_t apart =
      std::abs(stride_along(*roles.vectors.read, stage.data[static_cast<size_t>(roles.lanes)]).value_or(0));
  if (apart == 1) return 0;
  if (apart == 0 || apart > ir::kFewApart) return kMove;
  return std::min(kMove, kLoadAndSort * static_cast<double>(apart) / static_cast<double>(lanes_of(stage, target)));
}

// Cycles for one term of one sum, with a register tile's share of what packing and transposed stores take.
double cost_of_term(const Graph& graph, const Stage& stage, const Roles& roles, const Target& target) {
  const auto extent = [&](int d) { return stage.data[static_cast<size_t>(d)].extent; };
  const int64_t rows = extent(roles.rows), columns = extent(roles.lanes);
  const std::vector<Tile> tiles =
      tiles_of(rows, columns, lanes_of(stage, target), registers_of(graph, stage, roles, target), false);
  const auto share = static_cast<double>(roles.share < 0 ? 1 : extent(roles.share));
  double cost = tiles.front().cost / static_cast<double>(rows * columns);
  if (roles.lane_dimension < 0)
    cost += move_of_lane(stage, roles, target) / static_cast<double>(tiles.front().rows * tiles.front().lines);
  else if (!roles.contiguous && !graph.at(roles.vectors.source).param)
    cost += kMove / (static_cast<double>(rows * roles.repeats) * share);
  if (!roles.innermost) cost += kMove / static_cast<double>(roles.terms);
  return cost;
}

}  // namespace

std::optional<Roles> roles_of(const Graph& graph, int contraction) {
  return roles_along(graph, contraction, innermost_axis(graph.at(contraction)));
}

std::optional<Roles> roles_of_one_row(const Graph& graph, int contraction, const Target& target) {
  const Stage& stage = graph.at(contraction);
  const int innermost = innermost_axis(stage);
  if (roles_along(graph, contraction, innermost)) return std::nullopt;
  std::optional<Roles> roles = roles_along(graph, contraction, innermost, 1);
  if (!roles || !graph.at(roles->vectors.source).param) return std::nullopt;
  const std::optional<Dot> dot = dot_of(graph, stage, *roles, target);
  return dot && dot->rows == 1 ? roles : std::nullopt;
}

std::optional<Roles> best_roles(const Graph& graph, int contraction, const Target& target) {
  constexpr double kClearly = 1.3;
  const Stage& stage = graph.at(contraction);
  const int innermost = innermost_axis(stage);
  std::optional<Roles> best = roles_along(graph, contraction, innermost);
  if (!best) return roles_of_one_row(graph, contraction, target);
  if (best->group > 0 || dot_of(graph, stage, *best, target)) return best;
  double least = cost_of_term(graph, stage, *best, target) / kClearly;
  for (int d = innermost; d-- > 0;) {
    if (stage.data[static_cast<size_t>(d)].extent == 1) continue;
    std::optional<Roles> other = roles_along(graph, contraction, d);
    // The panels of another axis are copies in which it is the last.
    const bool moves = other && other->vectors.through >= 0 && !other->vectors.prologue();
    if (!other || other->group > 0 || moves || other->lane_dimension < 0 ||
        other->vectors.source == other->broadcast.source || is_state(stage, other->vectors))
      continue;
    other->innermost = false;
    if (dot_of(graph, stage, *other, target)) return other;
    const double cost = cost_of_term(graph, stage, *other, target);
    if (cost < least) least = cost, best = std::move(other);
  }
  return best;
}

std::vector<std::string> register_tiles(int64_t rows, int64_t columns, int64_t lanes, const Registers& registers,
                                        bool whole, int64_t lines) {
  constexpr size_t kMost = 16;
  constexpr double kWorst = 1.3;  // times the best guess
  std::vector<Tile> tiles = tiles_of(rows, columns, lanes, registers, whole, lines);
  while (tiles.size() > kMost || tiles.back().cost > kWorst * tiles.front().cost) tiles.pop_back();
  const bool of_lines = std::ranges::any_of(tiles, [](const Tile& t) { return t.lines > 1; });
  std::vector<std::string> texts;
  for (const Tile& t : tiles)
    texts.push_back("[" + std::to_string(t.rows) + "," + std::to_string(t.columns) +
                    (of_lines ? "," + std::to_string(t.lines) : "") + "]");
  return texts;
}

}  // namespace tw::autotune::sketch
