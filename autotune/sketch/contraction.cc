// Matrix products and convolutions: sums of a register tile stay in registers while all terms are added.
//
//   parallel over panels of columns and shares of the rows (a task):
//     pack the panel of the operand that is read in vectors
//     for the tiles of the task:
//       for k: sums[rows unrolled, columns in vectors] += broadcast * vectors
//       the tile's outputs, epilogue included
//
// Arithmetic on an operand (a prologue) is done where the panel is packed, in each task, by all threads before, or
// where the sums read it.
//
// Where a line of rows is short, a tile has several lines of the plane.
//
// Where the output's innermost axis is short, lanes run along another one; the tile is turned when it is stored.
//
// Sums that are too long for a panel to stay in a cache go in blocks: then the sums of a whole task lie in memory, and
// the loops over tiles stand inside the loop over blocks, where a block of the panel is packed.
#include "autotune/sketch/contraction.h"

#include <algorithm>
#include <tuple>

#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"

namespace tw::autotune::sketch {

using schedule::Factor;
using schedule::Split;

std::optional<Group> match_contraction(const Graph& graph, int root) {
  const auto claim = [&](int anchor) -> std::optional<Group> {
    const std::optional<Roles> roles = roles_of(graph, anchor);
    if (!roles) return std::nullopt;
    // One copy has one shape.
    if (roles->broadcast.source == roles->vectors.source && !graph.at(roles->vectors.source).same_shapes)
      return std::nullopt;
    Group group{root, anchor, {}};
    const auto places = [&](const Operand& operand) {
      return operand.through >= 0 && roles->broadcast.through != roles->vectors.through &&
             graph.at(operand.through).readers == std::vector<int>{anchor};
    };
    const bool whole_lanes = !roles->vectors.prologue() || roles->lane_dimension >= 0;
    if (places(roles->broadcast)) group.members.push_back(roles->broadcast.through);
    if (places(roles->vectors) && whole_lanes) group.members.push_back(roles->vectors.through);
    std::sort(group.members.begin(), group.members.end());
    group.members.push_back(anchor);
    if (root != anchor) group.members.push_back(root);
    return group;
  };
  if (graph.at(root).kind == StageKind::kContraction) return claim(root);
  for (const Access& read : graph.at(root).reads) {
    const Stage& stage = graph.at(read.stage);
    if (stage.kind == StageKind::kContraction && !stage.output && stage.readers == std::vector<int>{root} &&
        reads_in_place(graph, root, read.stage))
      if (std::optional<Group> group = claim(read.stage)) return group;
  }
  return std::nullopt;
}

namespace {

constexpr int64_t kTasks = 8;       // that keep a few threads busy to the end
constexpr int64_t kMostTiles = 64;  // side by side, of a task

// Powers of two and what else divides work among few threads, up to `most`; the first of at least `wanted` leads.
std::vector<int64_t> counts(int64_t most, int64_t wanted = 1) {
  std::vector<int64_t> values;
  for (int64_t n : {1, 2, 3, 4, 6, 8, 14, 16, 28, 32, 64, 128, 256})
    if (n <= most) values.push_back(n);
  auto first = std::find_if(values.begin(), values.end(), [&](int64_t n) { return n >= wanted; });
  if (first == values.end()) --first;
  std::rotate(values.begin(), first, first + 1);
  return values;
}

class Contraction {
 public:
  Contraction(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        root_(sketch.graph.at(group.root)),
        roles_(*best_roles(sketch.graph, group.anchor, sketch.target)),
        dot_(dot_of(sketch.graph, stage_, roles_, sketch.target)),
        packed_ahead_(can_be_packed_ahead()) {}

  void run() {
    define_knobs();
    if (packed_ahead_) lay_out_ahead();
    sums_ = group_.root == group_.anchor ? k_.cache_write(stage_.name) : stage_.name;
    if (!roles_.innermost) turn_sums();
    if (packs()) panel_ = pack_stage();
    if ((dot_ && dot_->packs_rows()) || value("block", 1) == 1)
      rows_ = k_.cache_read(source_of(roles_.broadcast).name, {sums_});
    else if (can_widen() && value("widen") == 1)
      place_wide(k_.cache_read(source_of(roles_.broadcast).name, {sums_}));
    tile_outputs();
    tile_sums();
    if (!panel_.empty()) place_panel();
    if (!rows_.empty()) place_rows();
    if (const int through = roles_.vectors.through; panel_.empty() && member(through))
      k_.step(schedule::ComputeInline{k_.graph.at(through).name});
    place_broadcast();
  }

 private:
  const Axis& axis(int d) const { return stage_.data[static_cast<size_t>(d)]; }
  std::string output_axis(int d) const { return root_.data[static_cast<size_t>(d)].name; }
  std::string knob(const char* what) const { return stage_.name + "." + what; }
  int64_t value(const char* what, int part = 0) { return k_.cfg.value(knob(what), part); }
  Factor factor(const char* what, int part = 0) const { return k_.cfg.factor(knob(what), part); }
  std::pair<std::string, std::string> split(const std::string& stage, const std::string& name, Factor by,
                                            ir::Tail tail = ir::Tail::kAuto) {
    k_.step(Split{stage, name, std::move(by), {}, tail});
    return {name + ".o", name + ".i"};
  }
  bool member(int stage) const {
    return std::find(group_.members.begin(), group_.members.end(), stage) != group_.members.end();
  }

  void define_knobs();
  bool can_be_packed_ahead() const;
  bool can_pack() const;
  bool turns() const;
  bool can_pack_whole() const {
    return (roles_.vectors.through < 0 || roles_.vectors.prologue()) && !dot_ && roles_.contiguous;
  }
  std::vector<std::string> places() const;
  bool reads_whole_rows() const;
  bool can_copy_rows() const;
  bool can_turn_rows() const;
  bool can_widen() const;
  bool is_matrix() const { return dot_ && dot_->rows > 1; }
  bool streams() const;
  // Rounded up to whole vectors, the sums as well as the panel.
  bool pads() {
    return !dot_ && value("block") == 0 && packs() && k_.cfg.value_json(knob("pack")) == "\"task\"" &&
           pads_lanes(k_.graph, stage_, roles_, k_.target);
  }
  bool packs() { return can_pack() && k_.cfg.value_json(knob("pack")) != "\"no\""; }
  const Stage& source_of(const Operand& operand) const { return k_.graph.at(operand.source); }
  void lay_out_ahead();
  void turn_sums();
  void lay_out_matrices();
  std::string pack_stage();
  void tile_outputs();
  void tile_sums();
  int64_t padded_line();
  void place_panel();
  void place_whole();
  bool vectorize_terms(const std::string& lane);
  std::string turn_panel();
  void place_rows();
  void place_wide(const std::string& copy);
  void copy_in_vectors(const std::string& copy, const std::vector<std::string>& axes, int64_t extent, int64_t lanes,
                       bool parallel);
  void place_broadcast();
  std::vector<std::string> blocks() const;
  std::vector<std::string> panel_axes() const;
  std::vector<std::string> panel_indices(const std::string& lane) const;
  std::vector<std::string> split_terms(std::vector<std::string> terms);
  void fetch_ahead(const std::string& terms);

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Stage& root_;
  const Roles roles_;
  const std::optional<Dot> dot_;
  const bool packed_ahead_;
  int64_t lines_ = 1;  // of a tile
  std::string sums_, panel_, rows_;
  std::string task_, tile_loop_, panel_loop_;  // of the outputs
  std::string block_loop_;                     // of the sums
  std::string packed_at_stage_, packed_at_;    // where the panel is packed
};

// Weights that the caller gives packed, in one way for all. A user's statement reads them as they are declared.
bool Contraction::can_be_packed_ahead() const {
  const Stage& weights = k_.graph.at(roles_.vectors.source);
  const schedule::LoopNest& nest = k_.s.nest();
  return weights.param && !nest.stage(nest.find_stage(weights.name)).layout && roles_.vectors.through < 0 &&
         roles_.lane_dimension >= 0 && roles_.vectors.source != roles_.broadcast.source &&
         std::none_of(
             weights.readers.begin(), weights.readers.end(),
             [&](int reader) { return k_.graph.at(reader).kind == StageKind::kExtern; });
}

bool Contraction::can_pack() const {
  if (packed_ahead_) return false;
  if (member(roles_.vectors.through)) return true;
  if (roles_.vectors.through >= 0 && !roles_.vectors.prologue()) return false;
  return turns() || (roles_.vectors.source != roles_.broadcast.source && roles_.lane_dimension >= 0);
}

// Both operands are one tensor, whose lanes lie apart: what is packed is all of it, turned, and both read that.
bool Contraction::turns() const {
  return roles_.vectors.source == roles_.broadcast.source && !roles_.contiguous && roles_.lane_dimension >= 0 &&
         roles_.group == 0 && !dot_;
}

// Whether the rows are an axis of a tensor that is read as it lies.
bool Contraction::reads_whole_rows() const {
  return roles_.broadcast.through < 0 && roles_.broadcast.source != roles_.vectors.source && roles_.share < 0 &&
         !dot_ && dimension_of(*roles_.broadcast.read, axis(roles_.rows)) >= 0;
}

// Rows of a tile side by side: they often lie a power of two apart, which is one set of the L1.
bool Contraction::can_copy_rows() const {
  constexpr int64_t kFewColumns = 256;
  return reads_whole_rows() && axis(roles_.lanes).extent >= kFewColumns;
}

// The same, and all of them before the tasks begin: of rows whose terms lie apart, as of a.T @ b, each term has a line
// of its own, and these lie a power of two apart more often than not.
bool Contraction::can_turn_rows() const {
  constexpr int64_t kFewRows = 32, kFewColumns = 64;
  return reads_whole_rows() && stage_.sums.size() == 1 &&
         stride_along(*roles_.broadcast.read, axis(roles_.rows)) == 1 && axis(roles_.rows).extent >= kFewRows &&
         axis(roles_.lanes).extent >= kFewColumns;
}

// Elements that are converted for each vector that they are multiplied by: of a copy, which `wide_copies` makes wide,
// once. Of a few vectors alone that costs more.
bool Contraction::can_widen() const {
  constexpr int64_t kVectors = 16;
  const Stage& source = source_of(roles_.broadcast);
  return !dot_ && source.type.is_half() && source.type.bits < stage_.type.bits && roles_.broadcast.through < 0 &&
         roles_.broadcast.source != roles_.vectors.source && roles_.group == 0 && is_plain_product(stage_, false) &&
         axis(roles_.lanes).extent >= kVectors * lanes_of(stage_, k_.target);
}

// [terms of a block, 0 for none; whether the rows of a block are packed too]: where a panel may be too large for an L2.
std::vector<std::string> Contraction::blocks() const {
  std::vector<std::string> values = {"[0,0]"};
  if (can_turn_rows()) values.push_back("[0,1]");
  if (stage_.sums.empty() || roles_.terms < 1024 || dot_) return values;
  const int64_t outer = roles_.terms / stage_.sums.back().extent;
  for (int64_t block : {256, 512, 1024}) {
    if (block * outer > 4096 || block * 3 / 2 > stage_.sums.back().extent) continue;
    values.push_back("[" + std::to_string(block) + ",0]");
    if (can_copy_rows() || can_turn_rows()) values.push_back("[" + std::to_string(block) + ",1]");
  }
  return values;
}

// Few rows, which use once what comes from memory: no cache holds it, and a processor fetches ahead within a page.
bool Contraction::streams() const {
  constexpr int64_t kFewRows = 4, kMoreThanCaches = int64_t{32} << 20;
  const Stage& source = source_of(roles_.vectors);
  return axis(roles_.rows).extent <= kFewRows && stage_.sums.size() == 1 && roles_.vectors.through < 0 &&
         roles_.lane_dimension >= 0 && roles_.group == 0 && !is_matrix() &&
         source.elements * source.type.bytes() >= kMoreThanCaches;
}

void Contraction::define_knobs() {
  const int64_t lanes = dot_ ? dot_->lanes : lanes_of(stage_, k_.target);
  const int64_t rows = axis(roles_.rows).extent, columns = axis(roles_.lanes).extent;
  const bool takes_lines = roles_.share >= 0 && roles_.group == 0 && !is_matrix();
  const std::vector<std::string> sizes = register_tiles(
      rows, roles_.group > 0 ? roles_.group : columns, lanes, registers_of(k_.graph, stage_, roles_, k_.target, dot_),
      dot_ || roles_.group > 0, takes_lines ? axis(roles_.share).extent : 1);
  k_.cfg.define_knob_json(knob("tile"), sizes);
  if (std::ranges::count(sizes.front(), ',') == 2) lines_ = value("tile", 2);
  const int64_t shared = roles_.share >= 0 ? axis(roles_.share).extent : (rows + 5) / 6;
  const int64_t panels = (columns + 4 * lanes - 1) / (4 * lanes);
  int64_t tasks = panels;
  for (int d : roles_.outer) tasks *= axis(d).extent;
  k_.cfg.define_knob(knob("shares"), counts(std::min<int64_t>(shared, 256), (kTasks + tasks - 1) / tasks));
  // Rows are copied for each task: of tiles, which are through with them soon, for as many columns as there are.
  const bool tiles = dot_ && dot_->is_tile() && dot_->packs_rows();
  k_.cfg.define_knob(knob("panels"),
                     counts(tiles ? std::min(columns / lanes, kMostTiles) : std::min<int64_t>(panels, 8)));
  if (can_pack()) {
    const bool costs = roles_.vectors.prologue() && source_of(roles_.vectors).expensive;
    const bool must = !roles_.contiguous || dot_ || costs;
    std::vector<std::string> packs = {"\"task\""};
    if (!must) packs.push_back("\"no\"");
    if (can_pack_whole()) packs.push_back("\"whole\"");
    if (turns()) packs = {"\"whole\"", "\"no\""};
    k_.cfg.define_knob_json(knob("pack"), packs);
  }
  k_.cfg.define_knob(knob("rows_first"), {0, 1});
  k_.cfg.define_knob(knob("unroll"), {1, 4});
  k_.cfg.define_knob_json(knob("block"), blocks());
  if (can_widen()) k_.cfg.define_knob(knob("widen"), {1, 0});
  if (streams()) k_.cfg.define_knob(knob("ahead"), {4096, 0});  // bytes
  if (member(roles_.broadcast.through)) k_.cfg.define_knob_json(knob("place"), places());
}

// Of what stands before the broadcast operand.
std::vector<std::string> Contraction::places() const {
  const Stage& stage = k_.graph.at(roles_.broadcast.through);
  if ((dot_ && stage.pads) || (stage.prologue && stage.expensive)) return {"\"task\"", "\"root\""};
  if (stage.prologue || stage.pads) return {"\"task\"", "\"root\"", "\"inline\""};
  return {"\"inline\"", "\"task\"", "\"root\""};
}

// [j // 64, k, j % 64]: the columns of a panel side by side; of an instruction that adds four terms at once
// [j // 64, k // 4, j % 64, k % 4].
void Contraction::lay_out_ahead() {
  const int64_t columns = k_.cfg.value(knob("tile"), 1);
  const Stage& source = k_.graph.at(roles_.vectors.source);
  const std::string lane = "ax" + std::to_string(roles_.lane_dimension), by = std::to_string(columns);
  std::vector<std::string> indices = panel_indices(lane + " % " + by);
  indices.insert(indices.begin(), lane + " // " + by);
  const bool pads = source.shape[static_cast<size_t>(roles_.lane_dimension)] % columns != 0;
  k_.step(schedule::TransformLayout{source.name, indices, pads ? "0" : ""});
}

// Of the stage that holds a panel: its own, or those of a copy.
std::vector<std::string> Contraction::panel_axes() const {
  const int through = roles_.vectors.through;
  const Stage& stage = k_.graph.at(member(through) ? through : roles_.vectors.source);
  std::vector<std::string> names;
  for (size_t d = 0; d < stage.shape.size(); ++d)
    names.push_back(member(through) ? stage.data[d].name : "ax" + std::to_string(d));
  return names;
}

// All dimensions but the lanes', then those.
std::vector<std::string> Contraction::panel_indices(const std::string& lane) const {
  const std::vector<std::string> names = panel_axes();
  const int grouped = dot_ ? dimension_of(*roles_.vectors.read, stage_.sums.back()) : -1;
  const std::string group = dot_ ? std::to_string(dot_->side_by_side()) : "";
  std::vector<std::string> indices;
  for (int d = 0; d < static_cast<int>(names.size()); ++d) {
    if (d == roles_.lane_dimension) continue;
    indices.push_back(names[static_cast<size_t>(d)] + (d == grouped ? " // " + group : ""));
  }
  indices.push_back(lane);
  if (dot_) indices.push_back(names[static_cast<size_t>(grouped)] + " % " + group);
  return indices;
}

// Lanes innermost in a tile of sums, whatever they are in the output.
void Contraction::turn_sums() {
  std::vector<std::string> names;
  for (int d = 0; d < static_cast<int>(stage_.data.size()); ++d)
    if (d != roles_.lanes) names.push_back(axis(d).name);
  names.push_back(axis(roles_.lanes).name);
  k_.step(schedule::TransformLayout{sums_, names, ""});
}

// The stage that holds a panel: the one by which the operand is read, or a copy of the operand.
std::string Contraction::pack_stage() {
  if (member(roles_.vectors.through)) return k_.graph.at(roles_.vectors.through).name;
  return k_.cache_read(k_.graph.at(roles_.vectors.source).name, {sums_});
}

void Contraction::tile_outputs() {
  const std::string& name = root_.name;
  const auto [row_tiles, row] = split(name, output_axis(roles_.rows), factor("tile", 0));
  const auto [columns, lane] = split(name, output_axis(roles_.lanes), factor("tile", 1));
  const auto [panels, panel] = split(name, columns, factor("panels"));
  const std::string shared = roles_.share >= 0 ? output_axis(roles_.share) : row_tiles;
  k_.step(Split{name, shared, {}, factor("shares"), ir::Tail::kAuto});
  const std::string share = shared + ".o";
  std::string lines = shared + ".i", line;
  if (lines_ > 1) std::tie(lines, line) = split(name, lines, factor("tile", 2));
  tile_loop_ = roles_.share >= 0 ? row_tiles : row_tiles + ".i";
  panel_loop_ = panel;
  std::vector<std::string> tasks;
  for (int d : roles_.outer) tasks.push_back(output_axis(d));
  tasks.push_back(value("rows_first") == 1 ? share : panels);
  tasks.push_back(value("rows_first") == 1 ? panels : share);
  std::vector<std::string> order = tasks;
  order.push_back(panel);
  if (roles_.share >= 0) order.push_back(lines);
  order.push_back(tile_loop_);
  if (!line.empty()) order.push_back(line);
  if (roles_.innermost)
    order.insert(order.end(), {row, lane});
  else
    order.insert(order.end(), {lane, row});
  k_.reorder(name, order);
  task_ = k_.fuse(name, tasks);
  k_.parallel(name, task_);
  k_.step(schedule::Vectorize{name, order.back()});
  if (!roles_.innermost || root_.expensive) return;
  if (!line.empty()) k_.step(schedule::Unroll{name, line});
  k_.step(schedule::Unroll{name, row});
}

// The loops over terms, the last one unrolled.
std::vector<std::string> Contraction::split_terms(std::vector<std::string> terms) {
  if (value("unroll") == 1) return terms;
  const auto [outer, inner] = split(sums_, terms.back(), factor("unroll"));
  k_.step(schedule::Unroll{sums_, inner});
  terms.back() = outer;
  terms.push_back(inner);
  return terms;
}

// What the loop over terms reads of the streaming operand so many bytes later.
void Contraction::fetch_ahead(const std::string& terms) {
  if (!streams() || packs() || value("ahead") == 0) return;
  const Stage& source = source_of(roles_.vectors);
  const int64_t bytes = value("tile", 1) * source.type.bytes() * value("unroll") * (dot_ ? dot_->group : 1);
  k_.step(schedule::Prefetch{sums_, source.name, terms, std::max<int64_t>(value("ahead") / bytes, 1), "", ""});
}

void Contraction::tile_sums() {
  constexpr int64_t kMostLanes = 1024;  // of a loop that is vectorized, by its whole domain
  const bool in_blocks = value("block") > 0;
  k_.step(schedule::ComputeAt{sums_, root_.name, in_blocks ? task_ : tile_loop_});
  packed_at_stage_ = root_.name, packed_at_ = panel_loop_;
  std::string row = axis(roles_.rows).name, lane = axis(roles_.lanes).name;
  std::string line = lines_ > 1 ? axis(roles_.share).name : "";
  std::vector<std::string> order, row_tiles, inner, terms;
  for (const Axis& sum : stage_.sums) terms.push_back(sum.name);
  if (in_blocks) {
    std::tie(order.emplace_back(), terms.back()) = split(sums_, terms.back(), factor("block"));
    block_loop_ = order.back();
    if (lines_ > 1) std::tie(row_tiles.emplace_back(), line) = split(sums_, line, factor("tile", 2));
    std::tie(row_tiles.emplace_back(), row) = split(sums_, row, factor("tile", 0));
  }
  if (in_blocks || axis(roles_.lanes).extent > kMostLanes)
    std::tie(order.emplace_back(), lane) = split(sums_, lane, factor("tile", 1));
  if (in_blocks) packed_at_stage_ = sums_, packed_at_ = order.back();
  inner = {row, lane};
  if (dot_) {
    split(sums_, lane, Factor(dot_->lanes));
    const auto [group, term] = split(sums_, terms.back(), Factor(dot_->group));
    terms.back() = group;
    inner = {row, lane + ".o", lane + ".i", term};
  }
  const bool pads = this->pads();
  if (pads) {
    const auto [vectors, in_vector] = split(sums_, lane, Factor(lanes_of(stage_, k_.target)), ir::Tail::kPad);
    inner = {row, vectors, in_vector};
    lane = in_vector;
  }
  if (is_matrix()) {
    split(sums_, row, Factor(dot_->rows));
    inner = {row + ".o", lane + ".o", row + ".i", lane + ".i", inner.back()};
    if (dot_->is_tile()) {
      const auto [pack, term] = split(sums_, inner.back(), Factor(dot_->packed));
      inner.back() = pack;
      inner.push_back(term);
    } else {
      lay_out_matrices();
    }
  }
  for (int d : roles_.outer) order.push_back(axis(d).name);
  if (roles_.share >= 0 && lines_ == 1) order.push_back(axis(roles_.share).name);
  order.insert(order.end(), row_tiles.begin(), row_tiles.end());
  terms = split_terms(std::move(terms));
  order.insert(order.end(), terms.begin(), terms.end());
  if (!line.empty()) order.push_back(line);
  order.insert(order.end(), inner.begin(), inner.end());
  k_.reorder(sums_, order);
  fetch_ahead(terms.front());
  if (!line.empty()) k_.step(schedule::Unroll{sums_, line});
  k_.step(schedule::Unroll{sums_, inner[0]});
  if (dot_ || pads) k_.step(schedule::Unroll{sums_, inner[1]});
  if (dot_)
    k_.step(schedule::Tensorize{sums_, inner[2], dot_->intrin});
  else
    k_.step(schedule::Vectorize{sums_, lane});
}

// All panels before the tasks begin, by all threads.
void Contraction::place_whole() {
  if (turns()) return k_.parallel(panel_, turn_panel());
  const std::string lane = panel_axes()[static_cast<size_t>(roles_.lane_dimension)],
                    by = std::to_string(k_.cfg.value(knob("tile"), 1));
  std::vector<std::string> indices = panel_indices(lane + " % " + by);
  indices.insert(indices.begin(), lane + " // " + by);
  const bool pads = source_of(roles_.vectors).shape[static_cast<size_t>(roles_.lane_dimension)] % std::stoll(by) != 0;
  k_.step(schedule::TransformLayout{panel_, indices, pads ? "0" : ""});
  const bool one = source_of(roles_.vectors).shape[static_cast<size_t>(roles_.lane_dimension)] <= std::stoll(by);
  const std::string inside = one ? lane : lane + ".i";
  if (!one) k_.parallel(panel_, lane + ".o");
  if (!dot_ || !vectorize_terms(inside)) k_.step(schedule::Vectorize{panel_, inside});
}

// Each of them side by side: [i // 2, j // 2, i % 2, j % 2].
void Contraction::lay_out_matrices() {
  std::vector<std::string> indices, inside;
  for (int d = 0; d < static_cast<int>(stage_.data.size()); ++d) {
    const bool split = d == roles_.rows || d == roles_.lanes;
    indices.push_back(axis(d).name + (split ? " // 2" : ""));
    if (split) inside.push_back(axis(d).name + " % 2");
  }
  indices.insert(indices.end(), inside.begin(), inside.end());
  k_.step(schedule::TransformLayout{sums_, indices, ""});
}

// [i // 6, k, i % 6]; of matrices [i // 8, k // 8, i % 8, k % 8].
void Contraction::place_rows() {
  const Stage& source = source_of(roles_.broadcast);
  const int dimension = dimension_of(*roles_.broadcast.read, axis(roles_.rows));
  const std::string row = "ax" + std::to_string(dimension), by = std::to_string(k_.cfg.value(knob("tile"), 0));
  const int grouped = is_matrix() ? dimension_of(*roles_.broadcast.read, stage_.sums.back()) : -1;
  const std::string group = is_matrix() ? std::to_string(dot_->group) : "";
  std::vector<std::string> indices = {row + " // " + by};
  for (int d = 0; d < static_cast<int>(source.shape.size()); ++d)
    if (d != dimension) indices.push_back("ax" + std::to_string(d) + (d == grouped ? " // " + group : ""));
  indices.push_back(row + " % " + by);
  if (is_matrix()) indices.push_back("ax" + std::to_string(grouped) + " % " + group);
  const bool in_task = is_matrix() || !block_loop_.empty();
  if (in_task) k_.step(schedule::ComputeAt{rows_, is_matrix() ? root_.name : sums_, is_matrix() ? task_ : block_loop_});
  k_.step(schedule::TransformLayout{rows_, indices, is_matrix() ? "" : "0"});
  if (!in_task) k_.parallel(rows_, row + ".o");
  if (!is_matrix()) return;
  const std::string terms = "ax" + std::to_string(grouped);
  const bool one = source.shape[static_cast<size_t>(grouped)] <= dot_->group;
  // Whole rows one after the other, as they lie in memory.
  if (dot_->is_tile() && !one && source.shape[static_cast<size_t>(dimension)] > k_.cfg.value(knob("tile"), 0))
    k_.reorder(rows_, {row + ".i", terms + ".o"});
  k_.step(schedule::Vectorize{rows_, one ? terms : terms + ".i"});
}

// Elements of the panel that whole vectors of a tile read in a line of it, rounded up to vectors.
int64_t Contraction::padded_line() {
  const int64_t lanes = lanes_of(stage_, k_.target), columns = (value("tile", 1) + lanes - 1) / lanes * lanes;
  const ir::Expr& at = roles_.vectors.read->at().back();
  int64_t line = 1 + (columns - 1) * step_along(at, axis(roles_.lanes)).value_or(1);
  for (const Axis& sum : stage_.sums) line += (sum.extent - 1) * std::abs(step_along(at, sum).value_or(0));
  return (line + lanes - 1) / lanes * lanes;
}

// What is packed for dot products, where it is copied as it lies. Gives whether it is.
bool Contraction::vectorize_terms(const std::string& lane) {
  const Stage& source = source_of(roles_.vectors);
  const int grouped = dimension_of(*roles_.vectors.read, stage_.sums.back());
  const int64_t group = dot_->side_by_side();
  const auto last = static_cast<int>(source.shape.size()) - 1;
  const bool lanes_in_place = roles_.lane_dimension == last;
  if (grouped < 0 || source.shape[static_cast<size_t>(grouped)] <= group || (!lanes_in_place && grouped != last))
    return false;
  const std::string terms = panel_axes()[static_cast<size_t>(grouped)];
  return vectorize_dot_panel(k_, {panel_, terms + ".o", lane, terms + ".i", k_.cfg.value(knob("tile"), 1), group,
                                  lanes_of(source, k_.target), lanes_in_place});
}

// Lanes innermost, in memory as well.
void Contraction::place_panel() {
  if (k_.cfg.value_json(knob("pack")) == "\"whole\"") return place_whole();
  k_.step(schedule::ComputeAt{panel_, packed_at_stage_, packed_at_});
  const std::vector<std::string> names = panel_axes();
  if (dot_) {
    const std::string lane = names[static_cast<size_t>(roles_.lane_dimension)];
    k_.step(schedule::TransformLayout{panel_, panel_indices(lane), ""});
    vectorize_terms(lane);
    return;
  }
  const bool moves = member(roles_.vectors.through) && !roles_.vectors.prologue();
  if (!moves && roles_.lane_dimension + 1 < static_cast<int>(names.size())) {
    turn_panel();
    return;
  }
  const auto [vectors, lane] = pads() ? split(panel_, names.back(), Factor(padded_line()), ir::Tail::kPad)
                                      : split(panel_, names.back(), factor("tile", 1));
  k_.step(schedule::Vectorize{panel_, lane});
}

// From lanes that lie apart: as many as a vector has at a time, so that their lines stay while the copy goes along
// them, in squares that are turned in registers. Gives the outermost loop.
std::string Contraction::turn_panel() {
  std::vector<std::string> names = panel_axes();
  const auto at = names.begin() + roles_.lane_dimension;
  std::rotate(at, at + 1, names.end());
  k_.step(schedule::TransformLayout{panel_, names, ""});
  const Stage& source = source_of(roles_.vectors);
  const int64_t lanes = lanes_of(source, k_.target);
  const auto [outer, lane] = split(panel_, names.back(), Factor(lanes));
  names.pop_back();
  names.insert(names.begin(), outer);
  if (!source.expensive) {
    const auto [blocks, term] = split(panel_, names.back(), Factor(lanes));
    names.back() = blocks;
    names.push_back(term);
    k_.step(schedule::Unroll{panel_, term});
  }
  names.push_back(lane);
  k_.reorder(panel_, names);
  k_.step(schedule::Vectorize{panel_, lane});
  return outer;
}

// Padding and the like of the operand that is broadcast.
void Contraction::place_broadcast() {
  const int through = roles_.broadcast.through;
  if (!member(through)) return;
  const Stage& stage = k_.graph.at(through);
  const std::string place = k_.cfg.value_json(knob("place"));
  if (place == "\"inline\"") {
    k_.step(schedule::ComputeInline{stage.name});
    return;
  }
  if (place == "\"task\"") k_.step(schedule::ComputeAt{stage.name, root_.name, task_});
  std::vector<std::string> axes;
  for (const Axis& a : stage.data) axes.push_back(a.name);
  copy_in_vectors(stage.name, axes, stage.data.back().extent, lanes_of(stage, k_.target), place == "\"root\"");
}

// All of it, before the tasks begin.
void Contraction::place_wide(const std::string& copy) {
  constexpr int64_t kFew = 1 << 14;  // elements that one thread copies sooner than others wake
  const Stage& source = source_of(roles_.broadcast);
  std::vector<std::string> axes;
  for (size_t d = 0; d < source.shape.size(); ++d) axes.push_back("ax" + std::to_string(d));
  copy_in_vectors(copy, axes, source.shape.back(), lanes_of(source, k_.target), source.elements > kFew);
}

// The last axis, of this extent, in vectors; the others by all threads where it is `parallel`.
void Contraction::copy_in_vectors(const std::string& copy, const std::vector<std::string>& axes, int64_t extent,
                                  int64_t lanes, bool parallel) {
  // What is shorter than a register is moved under a mask, unless it is a power of two; a few of these cost less.
  constexpr int64_t kFew = 4;
  const int64_t power = extent & -extent;
  const bool parts = extent < lanes && power < extent && extent / power <= kFew;
  const auto [vectors, lane] = split(copy, axes.back(), Factor(parts ? power : std::min(4 * lanes, extent)));
  if (parts) k_.step(schedule::Unroll{copy, vectors});
  k_.step(schedule::Vectorize{copy, lane});
  std::vector<std::string> outer(axes.begin(), axes.end() - 1);
  if (!parallel) return;
  if (outer.size() > 1) outer.pop_back();
  if (!outer.empty()) k_.parallel(copy, k_.fuse(copy, outer));
}

}  // namespace

void apply_contraction(Sketch& sketch, const Group& group) { Contraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
