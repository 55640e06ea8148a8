// Convolutions of planes on tensor cores: rows of an image lie side by side, not its channels (NCHW). A block computes
// a tile of channels by pixels, those of a row and of several lines, from tiles of both operands in shared memory.
//
//   C[n, c, y, x] = sum over q, r, s of D[n, q, y + r, x + s] * W[c, q, r, s]    ==>
//
//   D.global[n, y, x, q] = D[n, q, y, x], W.global[r, s, c, q] = W[c, q, r, s]
//   blockIdx.z n*y.o, blockIdx.y x.o, blockIdx.x c.o: threadIdx.z y.i.o*c.i.o: threadIdx.y x.i.o:
//     for r*s*q.o, pipelined:
//       the tiles of both operands, padding included, in swizzled rows of channels
//       for q.i.o unrolled, y.i.i, c.i.i.o, x.i.i.o: a product of a warp, whose lanes are threadIdx.x
//     the outputs by the lane map; where there is an epilogue, through shared memory
//
// Windows begin anywhere in a row, and vectors of it only at multiples of their length: so channels are brought side by
// side, by launches of their own. Where there is one pixel to each result, tensor cores take rows as they lie. Channels
// in groups are products of each group, whose tiles divide it. Of few tiles blocks share the channels that are added up
// (device_parts.cc).
#include <algorithm>
#include <numeric>

#include "autotune/sketch/device_product.h"
#include "autotune/sketch/planes.h"
#include "schedule/loop_nest.h"
#include "src/ir/interval_arith.h"
#include "src/ir/warp_products.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16;

struct Tile {
  int64_t rows, pixels;            // of a block: channels, and pixels of all lines
  int64_t warp_rows, warp_pixels;  // of a warp
};
constexpr Tile kTiles[] = {{64, 128, 32, 64}, {128, 128, 64, 64}, {128, 128, 64, 32}, {64, 256, 64, 64},
                           {128, 64, 64, 32}, {64, 64, 32, 32},   {128, 256, 64, 64}, {32, 128, 32, 32},
                           {32, 64, 16, 32},  {32, 32, 16, 16},   {16, 64, 16, 16},   {16, 32, 16, 8}};

// The outer loop of a split, by the inner one.
std::string outside(const std::string& loop) { return loop.substr(0, loop.size() - 1) + "o"; }

class PlaneContraction : DeviceProduct {
 public:
  PlaneContraction(Sketch& sketch, const Group& group)
      : DeviceProduct(sketch, group), planes_(*planes_of(sketch.graph, group, roles_)), product_(*planes_.product) {
    line_ = planes_.line;
    outer_ = planes_.outer;
  }

  void run() {
    define_knobs();
    if (parts_ > 1) take_parts();
    const std::array<std::string, 2> copies{copy_weights(), copy_image()};
    if (!at_root()) tile_epilogue();
    const std::string terms = tile_sums();
    for (const std::string& copy : copies) {
      k_.step(schedule::ComputeAt{copy, tiled_.stage, terms});
      k_.step(schedule::Swizzle{copy, "auto"});
    }
    k_.step(schedule::Pipeline{tiled_.stage, terms, factor("stages"), "auto"});
    if (parts_ > 1) add_parts(k_, group_);
  }

 private:
  // By the size of a product, which is one of a short axis too.
  std::string product(const std::string& loop, int size, int64_t extent) {
    return split(tiled_.stage, loop, size, extent < size ? ir::Tail::kMask : ir::Tail::kAuto);
  }
  const Axis& terms() const { return stage_.sums[planes_.terms]; }

  std::vector<std::string> tiles() const;
  void define_knobs();
  void take_parts();
  std::string copy_weights();
  std::string copy_image();
  void turn_image(const std::string& copy);
  void turn_weights(const std::string& copy);
  struct Loops {
    std::vector<std::string> outer;
    std::string row, column, line;
  };
  Loops loops_of(const std::string& name, const Stage& stage);
  std::string bind_blocks(const std::string& name, const Loops&);
  void tile_epilogue();
  std::string tile_sums();

  const Planes planes_;
  const ir::WarpProduct& product_;
};

// Rows, columns and lines of a block, then of a warp; then how many neighbours of a row a thread takes of the epilogue.
// The columns are those of whole rows, or a power of two, and the lines as many as that leaves, whichever reaches least
// past the ends.
std::vector<std::string> PlaneContraction::tiles() const {
  const int64_t columns = column_of(stage_).extent, unit = product_.n;
  const int64_t lines = has_lines() ? stage_.data[static_cast<size_t>(line_)].extent : 1;
  std::vector<std::pair<double, std::string>> all;
  double least = 0;
  for (const Tile& tile : kTiles) {
    const bool fits =
        roles_.row_group > 0 ? planes_.rows % tile.rows == 0 : tile.rows <= product_.m || tile.rows < 2 * planes_.rows;
    if (!fits || tile.warp_rows % product_.m != 0) continue;
    const int64_t warps = tile.pixels / tile.warp_pixels;
    double best = 0;
    std::string text;
    const auto consider = [&](int64_t width, int64_t height) {
      if (height < 1 || height >= 2 * lines || (height > 1 && !has_lines())) return;
      const int64_t along_lines = std::gcd(height, warps), along_row = warps / along_lines;
      const int64_t of_warp = ir::ceil_div(ir::ceil_div(width, along_row), unit) * unit;
      const double more =
          past_end(planes_.rows, tile.rows) * past_end(columns, of_warp * along_row) * past_end(lines, height);
      // What few pixels together leave of a product's operands is read again and again.
      const double cost = more * (1 + static_cast<double>(tile.pixels) / static_cast<double>(width * height));
      if (!text.empty() && cost >= best) return;
      best = cost;
      text = "[" + std::to_string(tile.rows) + "," + std::to_string(of_warp * along_row) + "," +
             std::to_string(height) + "," + std::to_string(tile.warp_rows) + "," + std::to_string(of_warp) + "," +
             std::to_string(height / along_lines) + "]";
    };
    for (int64_t width = unit; width <= tile.pixels && width < 2 * std::max(columns, unit); width *= 2)
      consider(width, tile.pixels / width);
    const int64_t whole = ir::ceil_div(columns, unit) * unit;
    if (whole <= tile.pixels) consider(whole, std::min(lines, tile.pixels / whole));
    if (text.empty() || std::ranges::count(all, text, &std::pair<double, std::string>::second) > 0) continue;
    least = all.empty() ? best : std::min(least, best);
    all.emplace_back(best, text);
  }
  std::vector<std::string> texts;
  for (const auto& [cost, text] : all)
    if (cost <= kMostPastEnd * least) texts.push_back(text);
  return texts;
}

void PlaneContraction::define_knobs() {
  constexpr int64_t kMostParts = 16, kPixels = 128, kRows = 64;
  const int64_t all = terms().extent;
  std::vector<int64_t> values;
  for (const int64_t products : {2, 4, 1})
    if (products == 1 || all % (products * product_.k) == 0) values.push_back(products * product_.k);
  const auto extent = [&](int d) { return stage_.data[static_cast<size_t>(d)].extent; };
  int64_t pixels = extent(roles_.lanes), blocks = extent(roles_.rows) / planes_.rows;
  if (has_lines()) pixels *= extent(line_);
  for (const int d : outer_) blocks *= extent(d);
  blocks *= ir::ceil_div(pixels, kPixels) * ir::ceil_div(planes_.rows, kRows);
  const int64_t processors = processors_of(k_.target);
  std::vector<int64_t> parts{1};
  for (int64_t n = 2; n <= kMostParts && n * blocks < 4 * processors && all >= n * values.front(); n *= 2)
    parts.insert(parts.begin() + 1, n);
  if (parts.size() > 3) parts.resize(3);
  if (4 * blocks < 3 * processors && stage_.bodies.size() == 1) choose_parts(parts);
  k_.cfg.define_knob_json(knob("tile"), tiles());
  k_.cfg.define_knob(knob("terms"), values);
  k_.cfg.define_knob(knob("stages"), std::vector<int64_t>{3, 4, 2});
}

// Whole tiles of terms.
void PlaneContraction::take_parts() {
  const int64_t tile = value("terms");
  split(stage_.name, terms().name, ir::ceil_div(ir::ceil_div(terms().extent, parts_), tile) * tile);
  tiled_.stage = rfactor(k_, stage_.name, terms().name + ".o", 0);
  tiled_.outer.insert(tiled_.outer.begin(), data_loops(k_.s, tiled_.stage).front());
  tiled_.terms = sum_loops(k_.s, tiled_.stage);
}

// Of what lies so that neighbours are windows: a thread has all of one pair of channels.
void PlaneContraction::turn_weights(const std::string& copy) {
  constexpr int64_t kThreads = 128;
  std::vector<std::string> loops = data_loops(k_.s, copy), order{loops[loops.size() - 2], loops.back()};
  order.insert(order.end(), loops.begin(), loops.end() - 2);
  k_.reorder(copy, order);
  const std::string all = k_.fuse(copy, {loops[loops.size() - 2], loops.back()});
  share(k_, copy, all, kThreads);
  k_.bind(copy, all + ".o", "blockIdx.x");
}

std::string PlaneContraction::copy_weights() {
  const Stage& weights = k_.graph.at(roles_.broadcast.source);
  std::vector<std::string> axes;
  int64_t behind = 1;  // elements between neighbouring terms
  for (size_t d = 0; d < weights.shape.size(); ++d) {
    if (d != planes_.channels && d != planes_.weights) axes.push_back("ax" + std::to_string(d));
    if (d > planes_.weights) behind *= weights.shape[d];
  }
  axes.push_back("ax" + std::to_string(planes_.channels));
  axes.push_back("ax" + std::to_string(planes_.weights));
  std::string source = weights.name;
  if (behind > 1) {
    const std::string turned = k_.s.nest().unique_name(source + ".global");
    k_.step(schedule::CacheRead{source, ir::Scope::kGlobal, {tiled_.stage}, axes});
    turn_weights(turned);
    source = turned;
    axes.clear();
  }
  const std::string copy = k_.s.nest().unique_name(source + ".shared");
  k_.step(schedule::CacheRead{source, ir::Scope::kShared, {tiled_.stage}, axes});
  return copy;
}

// A tile of pixels by channels goes through shared memory (device_transposed.cc).
void PlaneContraction::turn_image(const std::string& copy) {
  constexpr int64_t kTile = 64, kThreads = 256, kLineBytes = 128, kBankBytes = 4;
  const Stage& image = k_.graph.at(roles_.vectors.source);
  const int64_t bytes = image.type.bytes(), channels = image.shape[planes_.image], pixels = image.shape.back();
  const int64_t vector = std::gcd(channels, kVectorBytes / bytes);
  const std::string tile = k_.s.nest().unique_name(image.name + ".shared");
  k_.step(schedule::CacheRead{image.name, ir::Scope::kShared, {copy}});
  std::vector<std::string> outer = data_loops(k_.s, copy);
  const std::string q = outer.back(), x = "ax" + std::to_string(image.shape.size() - 1);
  std::erase(outer, q);
  std::erase(outer, x);
  const int64_t across = std::min(kTile, channels) / vector, wide = std::min(kTile, pixels);
  const std::string row = split(copy, x, wide), lanes = split(copy, q, vector), vectors = split(copy, q + ".o", across);
  std::string line;
  int64_t lines = 1;
  if (!outer.empty()) {  // several lines of short rows
    lines = std::max<int64_t>(1, kTile / wide);
    line = split(copy, outer.back(), lines);
    outer.back() += ".o";
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), {x + ".o", q + ".o.o"});
  if (!line.empty()) order.push_back(line);
  order.insert(order.end(), {row, vectors, lanes});
  k_.reorder(copy, order);
  int64_t outside = 1;
  for (size_t d = 0; d + 1 < image.shape.size(); ++d)
    if (d != planes_.image) outside *= image.shape[d];
  const std::string block = bind_tiles(k_, copy, outer, x + ".o", q + ".o.o", {outside, pixels, wide});
  const std::string rows = line.empty() ? row : k_.fuse(copy, {line, row});
  const std::string thread = split(copy, rows, std::min(lines * wide, std::max<int64_t>(1, kThreads / across)));
  k_.step(schedule::Unroll{copy, rows + ".o"});
  k_.bind(copy, thread, "threadIdx.y");
  k_.bind(copy, vectors, "threadIdx.x");
  k_.step(schedule::Vectorize{copy, lanes});
  k_.step(schedule::ComputeAt{tile, copy, block});
  k_.step(schedule::StorageAlign{tile, data_loops(k_.s, tile)[planes_.image], std::max<int64_t>(1, kLineBytes / bytes),
                                 std::max<int64_t>(1, kBankBytes / bytes)});
}

std::string PlaneContraction::copy_image() {
  const Operand& operand = roles_.vectors;
  const size_t rank = k_.graph.at(operand.source).shape.size();
  std::vector<std::string> axes;  // with pixels last, or, of what is turned, channels
  for (size_t d = 0; d + 1 < rank; ++d)
    if (d != planes_.image) axes.push_back("ax" + std::to_string(d));
  axes.push_back("ax" + std::to_string(planes_.turned ? rank - 1 : planes_.image));
  axes.push_back("ax" + std::to_string(planes_.turned ? planes_.image : rank - 1));
  std::string source = k_.graph.at(operand.source).name;
  const std::string padded = operand.through >= 0 ? k_.graph.at(operand.through).name : "";
  if (planes_.turned) {
    const std::string turned = k_.s.nest().unique_name(source + ".global");
    k_.step(schedule::CacheRead{source, ir::Scope::kGlobal, {padded.empty() ? tiled_.stage : padded}, axes});
    turn_image(turned);
    source = turned;
    if (padded.empty()) axes.clear();
  }
  if (!padded.empty()) source = padded;
  const std::string copy = k_.s.nest().unique_name(source + ".shared");
  k_.step(schedule::CacheRead{source, ir::Scope::kShared, {tiled_.stage}, axes});
  if (!padded.empty()) k_.step(schedule::ComputeInline{padded});
  return copy;
}

// The loops over blocks and within one, of the whole result.
PlaneContraction::Loops PlaneContraction::loops_of(const std::string& name, const Stage& stage) {
  Loops loops;
  if (parts_ > 1) loops.outer.push_back(tiled_.outer.front());
  for (const std::string& axis : outer_axes(stage)) loops.outer.push_back(axis);
  std::string row = row_of(stage).name;
  if (roles_.row_group > 0) {
    split(name, row, planes_.rows);
    loops.outer.push_back(row + ".o");
    row += ".i";
  }
  if (has_lines()) {
    loops.line = split(name, line_of(stage), tile(2));
    loops.outer.push_back(line_of(stage) + ".o");
  }
  loops.row = split(name, row, tile(0));
  loops.column = split(name, column_of(stage).name, tile(1));
  return loops;
}

// Of the loops .o of the tile's rows and columns, which stand outermost; the innermost that is bound.
std::string PlaneContraction::bind_blocks(const std::string& name, const Loops& loops) {
  const int64_t columns = column_of(stage_).extent;
  return bind_tiles(k_, name, loops.outer, outside(loops.column), outside(loops.row),
                    {stage_.elements / columns / planes_.rows * parts_, columns, product_.n});
}

// A thread's elements of a row are as far apart as there are lanes.
void PlaneContraction::tile_epilogue() {
  const std::string& name = root_.name;
  const Loops loops = loops_of(name, root_);
  const std::string row = split(name, loops.row, tile(3)), column = split(name, loops.column, tile(4)),
                    lane = split(name, column, ir::kLanesOfWarp);
  const std::string line = has_lines() ? split(name, loops.line, tile(5)) : "";
  std::vector<std::string> order = loops.outer;
  order.insert(order.end(), {outside(loops.column), outside(loops.row)});
  if (has_lines()) order.push_back(loops.line + ".o");
  order.insert(order.end(), {loops.row + ".o", loops.column + ".o"});
  if (has_lines()) order.push_back(line);
  order.insert(order.end(), {row, column + ".o", lane});
  k_.reorder(name, order);
  const std::string block = bind_blocks(name, loops);
  const std::string warps = has_lines() ? k_.fuse(name, {loops.line + ".o", loops.row + ".o"}) : loops.row + ".o";
  k_.bind(name, warps, "threadIdx.z");
  k_.bind(name, loops.column + ".o", "threadIdx.y");
  k_.bind(name, lane, "threadIdx.x");
  k_.step(schedule::SetScope{stage_.name, ir::Scope::kShared});
  k_.step(schedule::ComputeAt{stage_.name, name, block});
}

// The loop over tiles of terms.
std::string PlaneContraction::tile_sums() {
  Loops loops;
  std::vector<std::string> order;
  if (at_root()) {
    loops = loops_of(tiled_.stage, stage_);
    order = loops.outer;
    order.insert(order.end(), {outside(loops.column), outside(loops.row)});
  } else {
    loops.row = row_of(stage_).name;
    loops.column = column_of(stage_).name;
    if (has_lines()) loops.line = line_of(stage_);
    order = outer_axes(stage_);
  }
  const std::string part_rows = split(tiled_.stage, loops.row, tile(3)),
                    part_columns = split(tiled_.stage, loops.column, tile(4));
  const std::string line = has_lines() ? split(tiled_.stage, loops.line, tile(5)) : "";
  const std::string row = product(part_rows, product_.m, planes_.rows),
                    column = product(part_columns, product_.n, column_of(stage_).extent);
  if (has_lines()) order.push_back(loops.line + ".o");
  order.insert(order.end(), {loops.row + ".o", loops.column + ".o"});
  std::vector<std::string> sums = tiled_.terms;
  const auto of_terms = [&](const std::string& loop) {  // of a part another name that begins so
    return loop.starts_with(terms().name) &&
           std::ranges::none_of(stage_.sums, [&](const Axis& sum) { return &sum != &terms() && sum.name == loop; });
  };
  const std::string all = *std::ranges::find_if(sums, of_terms), inner = split(tiled_.stage, all, factor("terms")),
                    term = product(inner, product_.k, terms().extent);
  std::erase(sums, all);
  sums.push_back(all + ".o");
  order.insert(order.end(), sums.begin(), sums.end());
  order.push_back(inner + ".o");
  if (has_lines()) order.push_back(line);
  order.insert(order.end(), {part_rows + ".o", part_columns + ".o", row, column, term});
  k_.reorder(tiled_.stage, order);
  const std::string tiles = k_.fuse(tiled_.stage, sums);
  k_.step(schedule::Unroll{tiled_.stage, inner + ".o"});  // fragments of the next products are read meanwhile
  if (at_root()) bind_blocks(tiled_.stage, loops);
  const std::string warps =
      has_lines() ? k_.fuse(tiled_.stage, {loops.line + ".o", loops.row + ".o"}) : loops.row + ".o";
  k_.bind(tiled_.stage, warps, "threadIdx.z");
  k_.bind(tiled_.stage, loops.column + ".o", "threadIdx.y");
  k_.step(schedule::Tensorize{tiled_.stage, row, std::string(product_.name)});
  return tiles;
}

}  // namespace

std::optional<Group> match_device_planes(const Graph& graph, int root) {
  std::optional<Group> group = match_device_contraction(graph, root);
  if (!group || (group->anchor != group->root && !reads_in_place(graph, group->root, group->anchor)) ||
      !planes_of(graph, *group, *roles_of(graph, group->anchor)))
    return std::nullopt;
  return group;
}

void apply_device_planes(Sketch& sketch, const Group& group) { PlaneContraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
