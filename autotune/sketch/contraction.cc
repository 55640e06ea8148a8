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
#include <algorithm>

#include "autotune/sketch/contraction_rule.h"
#include "autotune/sketch/from_memory.h"
#include "schedule/loop_nest.h"
#include "schedule/placement.h"
#include "src/target/abilities.h"

namespace tw::autotune::sketch {

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

// Tiles whose rows take less than a line and a half: a line of memory that two of them store is waited for twice. All
// stay where all are narrow.
void leave_out_narrow(std::vector<std::string>& sizes, ir::Type type) {
  constexpr int64_t kLeast = kCacheLineBytes * 3 / 2;
  const auto narrow = [&](const std::string& size) {
    return std::stoll(size.substr(size.find(',') + 1)) * type.bytes() < kLeast;
  };
  if (!std::ranges::all_of(sizes, narrow)) std::erase_if(sizes, narrow);
}

}  // namespace

void Contraction::run() {
  define_knobs();
  if (packed_ahead_) lay_out_ahead();
  sums_ = group_.root == group_.anchor ? k_.cache_write(stage_.name) : stage_.name;
  if (!roles_.innermost) turn_sums();
  if (packs()) panel_ = pack_stage();
  if (copies_rows() || value("block", 1) == 1)
    rows_ = k_.cache_read(source_of(roles_.broadcast).name, {sums_});
  else if (can_widen() && value("widen") == 1)
    place_wide(k_.cache_read(source_of(roles_.broadcast).name, {sums_}));
  tile_outputs();
  leave_out_tiles();
  tile_sums();
  if (!panel_.empty()) place_panel();
  if (!rows_.empty()) place_rows();
  if (const int through = roles_.vectors.through; panel_.empty() && group_.has(through))
    k_.step(schedule::ComputeInline{k_.graph.at(through).name});
  place_broadcast();
}

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

// Sums are joined in weights that are packed ahead.
std::optional<Dot> Contraction::usable_dot() const {
  std::optional<Dot> dot = dot_of(k_.graph, stage_, roles_, k_.target);
  return dot && dot->sums > 1 && !packed_ahead_ ? std::nullopt : dot;
}

bool Contraction::can_pack() const {
  if (packed_ahead_) return false;
  if (group_.has(roles_.vectors.through)) return true;
  if (roles_.vectors.through >= 0 && !roles_.vectors.prologue()) return false;
  if (is_state(stage_, roles_.vectors)) return false;
  return turns() || (roles_.vectors.source != roles_.broadcast.source && roles_.lane_dimension >= 0);
}

// Both operands are one tensor, whose lanes lie apart: what is packed is all of it, turned, and both read that.
bool Contraction::turns() const {
  return roles_.vectors.source == roles_.broadcast.source && !roles_.contiguous && roles_.lane_dimension >= 0 &&
         roles_.group == 0 && !dot_;
}

// Lanes that lie apart, which each task would turn again.
bool Contraction::turns_once() const {
  constexpr int64_t kOften = 4;
  return !roles_.contiguous && roles_.repeats >= kOften && !dot_ && roles_.lane_dimension >= 0 &&
         roles_.lane_dimension + 1 < static_cast<int>(source_of(roles_.vectors).shape.size());
}

// Whether the rows are an axis of a tensor that is read as it lies.
bool Contraction::reads_whole_rows() const {
  return roles_.broadcast.through < 0 && roles_.broadcast.source != roles_.vectors.source &&
         !is_state(stage_, roles_.broadcast) && roles_.share < 0 && !dot_ &&
         dimension_of(*roles_.broadcast.read, axis(roles_.rows)) >= 0;
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
         roles_.broadcast.source != roles_.vectors.source && !is_state(stage_, roles_.broadcast) && roles_.group == 0 &&
         is_plain_product(stage_, false) && axis(roles_.lanes).extent >= kVectors * lanes_of(stage_, k_.target);
}

// [terms of a block, 0 for none; whether the rows of a block are packed too]: where a panel may be too large for an L2.
std::vector<std::string> Contraction::blocks() const {
  std::vector<std::string> values = {"[0,0]"};
  if (can_turn_rows()) values.push_back("[0,1]");
  if (reads_long_rows()) values.insert(values.begin(), {"[8,0]", "[16,0]"});
  if (stage_.sums.empty() || roles_.terms < 1024 || dot_) return values;
  const int64_t outer = roles_.terms / stage_.sums.back().extent;
  for (int64_t block : {256, 512, 1024}) {
    if (block * outer > 4096 || block * 3 / 2 > stage_.sums.back().extent) continue;
    values.push_back("[" + std::to_string(block) + ",0]");
    if (can_copy_rows() || can_turn_rows()) values.push_back("[" + std::to_string(block) + ",1]");
  }
  return values;
}

// Many rows, times a matrix of which all stays in L1: a tile of rows can go along all its panels before the next ones,
// so that rows come once and leave whole.
bool Contraction::has_small_factor() {
  constexpr int64_t kManyRows = 256, kSmall = 32 << 10;
  const int64_t columns = axis(roles_.lanes).extent, lanes = lanes_of(stage_, k_.target);
  return roles_.share < 0 && roles_.innermost && roles_.group == 0 && stage_.sums.size() == 1 && !dot_ &&
         !leaves_terms_out() && axis(roles_.rows).extent >= kManyRows && columns > 2 * lanes &&
         roles_.terms * columns * source_of(roles_.vectors).type.bytes() <= kSmall;
}

bool Contraction::panels_inside() {
  if (!has_small_factor() || value("inside") == 0 || value("block") > 0) return false;
  return !packs() || k_.cfg.value_json(knob("pack")) != "\"task\"";
}

// Few rows, times a matrix that comes from L3 or memory as it lies: a core reads on where it reads a few of its lines,
// each for many columns, before it takes the next ones.
bool Contraction::reads_long_rows() const {
  constexpr int64_t kFewRows = 64, kTerms = 64, kColumns = 512, kMoreThanL2 = 1 << 20;
  const Stage& source = source_of(roles_.vectors);
  return axis(roles_.rows).extent <= kFewRows && axis(roles_.lanes).extent >= kColumns && stage_.sums.size() == 1 &&
         roles_.terms >= kTerms && roles_.vectors.through < 0 && roles_.contiguous && roles_.group == 0 && !dot_ &&
         !packed_ahead_ && source.elements * source.type.bytes() >= kMoreThanL2;
}

// Whether it does; each task then goes along its columns for each block of terms.
bool Contraction::goes_along_rows() {
  constexpr int64_t kFewTerms = 16;
  return reads_long_rows() && value("block") > 0 && value("block") <= kFewTerms;
}

// Few rows, which use once what comes from memory: no cache holds it, and a processor fetches ahead within a page.
bool Contraction::streams() const {
  constexpr int64_t kFewRows = 4, kMoreThanCaches = int64_t{32} << 20;
  const Stage& source = source_of(roles_.vectors);
  return axis(roles_.rows).extent <= kFewRows && stage_.sums.size() == 1 && roles_.vectors.through < 0 &&
         roles_.lane_dimension >= 0 && roles_.group == 0 && !is_matrix() &&
         source.elements * source.type.bytes() >= kMoreThanCaches;
}

// [bytes, into which cache]. On a Xeon with tiles, what waits for memory in the few places that the first cache keeps
// for lines on their way comes more slowly: 0.86 of a plain read, into the second 0.94.
std::vector<std::string> Contraction::distances() const {
  std::vector<std::string> values = {"[4096,1]", "[4096,2]", "[0,1]"};
  if (k_.target.abilities.tiles) std::swap(values[0], values[1]);
  if (target::reads_ahead(k_.target) && axis(roles_.rows).extent == 1) std::swap(values[0], values[2]);
  return values;
}

void Contraction::define_knobs() {
  const int64_t lanes = dot_ ? dot_->lanes : lanes_of(stage_, k_.target);
  const int64_t rows = axis(roles_.rows).extent, columns = axis(roles_.lanes).extent;
  const bool in_place = !is_matrix() || (dot_->is_tile() && dot_->in_place);
  const bool takes_lines = roles_.share >= 0 && roles_.group == 0 && in_place;
  // Of blocks of rows an even number, so that tiles of two leave no rest.
  const int64_t in_blocks = leaves_rows() ? (rows + 2 * dot_->rows - 1) / (2 * dot_->rows) * (2 * dot_->rows) : rows;
  const int64_t in_vectors = leaves_columns() ? (columns + lanes - 1) / lanes * lanes : columns;
  std::vector<std::string> sizes =
      register_tiles(in_blocks, roles_.group > 0 ? roles_.group : in_vectors, lanes,
                     registers_of(k_.graph, stage_, roles_, k_.target, dot_),
                     (dot_ && !leaves_columns()) || roles_.group > 0, takes_lines ? axis(roles_.share).extent : 1);
  if (has_small_factor() && root_.elements * root_.type.bytes() >= kMoreThanShare) leave_out_narrow(sizes, root_.type);
  k_.cfg.define_knob_json(knob("tile"), sizes);
  if (std::ranges::count(sizes.front(), ',') == 2) lines_ = value("tile", 2);
  const int64_t shared = roles_.share >= 0 ? axis(roles_.share).extent : (rows + 5) / 6;
  const int64_t panels = (columns + 4 * lanes - 1) / (4 * lanes);
  int64_t tasks = panels;
  for (int d : roles_.outer) tasks *= axis(d).extent;
  k_.cfg.define_knob(knob("shares"), counts(std::min<int64_t>(shared, 256), (kTasks + tasks - 1) / tasks));
  // Rows are copied for each task: of tiles, which are through with them soon, for as many columns as there are.
  const bool tiles = dot_ && dot_->is_tile();
  k_.cfg.define_knob(knob("panels"),
                     counts(tiles ? std::min(in_vectors / lanes, kMostTiles) : std::min<int64_t>(panels, 8)));
  if (can_pack()) {
    const bool costs = roles_.vectors.prologue() && source_of(roles_.vectors).expensive;
    const bool must = !roles_.contiguous || dot_ || costs;
    std::vector<std::string> packs = {"\"task\""};
    if (!must) packs.push_back("\"no\"");
    if (can_pack_whole()) packs.push_back("\"whole\"");
    if (turns_once()) std::ranges::reverse(packs);
    if (turns()) packs = {"\"whole\"", "\"no\""};
    k_.cfg.define_knob_json(knob("pack"), packs);
  }
  // A caller's rows begin anywhere in a line, and one that lies in two is loaded in four cycles.
  if (dot_ && dot_->may_stay) k_.cfg.define_knob(knob("copy_rows"), {1, 0});
  k_.cfg.define_knob(knob("rows_first"), {0, 1});
  const bool one_group = dot_ && dot_->terms <= dot_->group;
  k_.cfg.define_knob(knob("unroll"), one_group ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 4});
  k_.cfg.define_knob_json(knob("block"), blocks());
  if (has_small_factor()) k_.cfg.define_knob(knob("inside"), {1, 0});
  if (can_widen()) k_.cfg.define_knob(knob("widen"), {1, 0});
  if (streams()) k_.cfg.define_knob_json(knob("ahead"), distances());
  if (group_.has(roles_.broadcast.through)) k_.cfg.define_knob_json(knob("place"), places());
}

// Whether what stands before the broadcast operand is padding, whose terms are left out where it is inlined.
bool Contraction::pads_with_zeros() const {
  const schedule::LoopNest& nest = k_.s.nest();
  const int through = roles_.broadcast.through;
  return group_.has(through) && !dot_ &&
         schedule::pads_with_zeros(nest.stage(nest.find_stage(k_.graph.at(through).name)), stage_.type);
}

// Of what stands before the broadcast operand.
std::vector<std::string> Contraction::places() const {
  const Stage& stage = k_.graph.at(roles_.broadcast.through);
  if ((dot_ && stage.pads) || (stage.prologue && stage.expensive)) return {"\"task\"", "\"root\""};
  if (pads_with_zeros()) return {"\"inline\"", "\"task\"", "\"root\""};
  if (stage.prologue || stage.pads) return {"\"task\"", "\"root\"", "\"inline\""};
  return {"\"inline\"", "\"task\"", "\"root\""};
}

void apply_contraction(Sketch& sketch, const Group& group) { Contraction(sketch, group).run(); }

}  // namespace tw::autotune::sketch
