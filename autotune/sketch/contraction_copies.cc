// The copies of a contraction's operands: panels of the one that is read in vectors, rows of the one that is broadcast,
// and what stands before either.
#include <algorithm>

#include "autotune/sketch/contraction_rule.h"

namespace tw::autotune::sketch {

using schedule::Factor;

// [j // 64, k, j % 64]: the columns of a panel side by side; of an instruction that adds four terms at once
// [j // 64, k // 4, j % 64, k % 4]. Sums that are rounded up read all panels of a task, [j // 192, j % 192 // 64, ...].
void Contraction::lay_out_ahead() {
  const int64_t columns = k_.cfg.value(knob("tile"), 1);
  const Stage& source = k_.graph.at(roles_.vectors.source);
  const std::string lane = "ax" + std::to_string(roles_.lane_dimension), by = std::to_string(columns);
  std::vector<std::string> indices = panel_indices(lane + " % " + by);
  const int64_t all = source.shape[static_cast<size_t>(roles_.lane_dimension)], of_task = columns * value("panels");
  if (dot_ && dot_->pads && (all + columns - 1) / columns * columns % of_task != 0) {
    const std::string task = std::to_string(of_task);
    indices.insert(indices.begin(), {lane + " // " + task, lane + " % " + task + " // " + by});
  } else {
    indices.insert(indices.begin(), lane + " // " + by);
  }
  const bool pads = all % columns != 0 || leaves_terms();
  k_.step(schedule::TransformLayout{source.name, indices, pads || has_terms_left(source) ? "0" : ""});
}

// Whether what is laid out whole does not end with a group of terms, though the sum may.
bool Contraction::has_terms_left(const Stage& source) const {
  if (!dot_ || joins_sums()) return false;
  const int grouped = dimension_of(*roles_.vectors.read, stage_.sums.back());
  return source.shape[static_cast<size_t>(grouped)] % dot_->side_by_side() != 0;
}

// Of the stage that holds a panel: its own, or those of a copy.
std::vector<std::string> Contraction::panel_axes() const {
  const int through = roles_.vectors.through;
  const Stage& stage = k_.graph.at(group_.has(through) ? through : roles_.vectors.source);
  std::vector<std::string> names;
  for (size_t d = 0; d < stage.shape.size(); ++d)
    names.push_back(group_.has(through) ? stage.data[d].name : "ax" + std::to_string(d));
  return names;
}

// Of the operand that is read in vectors, those along which terms lie side by side.
std::vector<int> Contraction::grouped_dimensions() const {
  std::vector<int> dimensions;
  const size_t all = stage_.sums.size(), grouped = dot_ ? static_cast<size_t>(dot_->sums) : 0;
  for (size_t s = all - grouped; s < all; ++s) dimensions.push_back(dimension_of(*roles_.vectors.read, stage_.sums[s]));
  return dimensions;
}

// All dimensions but the lanes', then those.
std::vector<std::string> Contraction::panel_indices(const std::string& lane) const {
  const std::vector<std::string> names = panel_axes();
  const std::vector<int> grouped = grouped_dimensions();
  const std::string group = dot_ ? std::to_string(dot_->side_by_side()) : "";
  std::string terms = grouped.empty() ? "" : names[static_cast<size_t>(grouped[0])];
  std::string beyond;
  if (joins_sums()) {
    const std::string channels = std::to_string(dot_->channels);
    std::string channel = names[static_cast<size_t>(grouped[1])];
    if (pads_channels()) beyond = channel + " // " + channels, channel += " % " + channels;
    terms = "(" + terms + " * " + channels + " + " + channel + ")";
  }
  std::vector<std::string> groups = {terms + " // " + group};
  if (packed_ahead_ && dot_ && dot_->pads_terms) {
    const std::string tile = std::to_string(dot_->group);
    groups = {terms + " // " + tile, terms + " % " + tile + " // " + group};
  }
  std::vector<std::string> indices;
  for (int d = 0; d < static_cast<int>(names.size()); ++d) {
    if (d == roles_.lane_dimension) continue;
    const auto place = std::ranges::find(grouped, d);
    if (place == grouped.end())
      indices.push_back(names[static_cast<size_t>(d)]);
    else if (place == grouped.begin())
      indices.insert(indices.end(), groups.begin(), groups.end());
  }
  indices.push_back(lane);
  if (dot_) indices.push_back(terms + " % " + group);
  if (!beyond.empty()) indices.push_back(beyond);
  return indices;
}

// The stage that holds a panel: the one by which the operand is read, or a copy of the operand.
std::string Contraction::pack_stage() {
  if (group_.has(roles_.vectors.through)) return k_.graph.at(roles_.vectors.through).name;
  return k_.cache_read(k_.graph.at(roles_.vectors.source).name, {sums_});
}

// All panels before the tasks begin, by all threads.
void Contraction::place_whole() {
  if (turns() || turns_once()) return k_.parallel(panel_, turn_panel());
  const std::string lane = panel_axes()[static_cast<size_t>(roles_.lane_dimension)],
                    by = std::to_string(k_.cfg.value(knob("tile"), 1));
  std::vector<std::string> indices = panel_indices(lane + " % " + by);
  indices.insert(indices.begin(), lane + " // " + by);
  const int64_t all = source_of(roles_.vectors).shape[static_cast<size_t>(roles_.lane_dimension)];
  const bool pads = k_.any_size || all % std::stoll(by) != 0 || has_terms_left(source_of(roles_.vectors));
  k_.step(schedule::TransformLayout{panel_, indices, pads ? "0" : ""});
  const bool one = source_of(roles_.vectors).shape[static_cast<size_t>(roles_.lane_dimension)] <= std::stoll(by);
  const std::string inside = one ? lane : lane + ".i";
  if (!one) k_.parallel(panel_, lane + ".o");
  k_.step(schedule::Vectorize{panel_, inside});
}

// Pixels of a line side by side, [n, y, x * channels + c], of so many pixels.
void Contraction::join_lines(const std::string& copy, std::vector<std::string> axes, int64_t pixels, bool parallel) {
  constexpr int64_t kVectors = 4;  // that copy_in_vectors makes of these lanes
  std::string channel = axes.back(), pixel = axes[axes.size() - 2];
  axes.resize(axes.size() - 2);
  const std::string all = std::to_string(dot_->channels);
  std::vector<std::string> indices = axes;
  indices.push_back(pixel + " * " + all + " + " + channel + (pads_channels() ? " % " + all : ""));
  if (pads_channels()) indices.push_back(channel + " // " + all);
  k_.step(schedule::TransformLayout{copy, indices, pads_channels() ? "0" : ""});
  int64_t lanes = lanes_of(source_of(roles_.broadcast), k_.target);
  if (const int64_t wide = padded_pixels(pixels); wide > pixels) {
    const auto [outer, inner] = split(copy, pixel, Factor(wide), ir::Tail::kPad);
    axes.push_back(outer);
    pixel = inner, pixels = wide;
  }
  if (pads_channels()) {
    const auto [outer, inner] = split(copy, channel, Factor(dot_->channels), ir::Tail::kPad);
    axes.push_back(outer);
    std::vector<std::string> order = axes;
    order.insert(order.end(), {pixel, inner});
    k_.reorder(copy, order);
    channel = inner;
    lanes = std::max<int64_t>(lanes / kVectors, 1);
  }
  axes.push_back(k_.fuse(copy, {pixel, channel}));
  if (!pads_channels()) k_.reorder(copy, axes);
  copy_in_vectors(copy, axes, pixels * dot_->channels, lanes, parallel);
}

// Of a line of the image, those that whole tiles read, of as many as there are.
int64_t Contraction::padded_pixels(int64_t pixels) {
  if (!is_matrix() || !dot_->is_tile() || !leaves_rows()) return pixels;
  const Access& read = *roles_.broadcast.read;
  const int64_t tile = value("tile", 0), rows = (axis(roles_.rows).extent + tile - 1) / tile * tile;
  const ir::Expr& at = read.at()[read.at().size() - 2];
  int64_t last = (rows - 1) * step_along(at, axis(roles_.rows).var).value_or(0);
  for (const Axis& sum : stage_.sums) last += (sum.extent - 1) * step_along(at, sum.var).value_or(0);
  return std::max(pixels, last + 1);
}

// [i // 6, k, i % 6]; of matrices [i // 8, k // 8, i % 8, k % 8].
void Contraction::place_rows() {
  const Stage& source = source_of(roles_.broadcast);
  if (joins_sums()) {
    std::vector<std::string> axes;
    for (size_t d = 0; d < source.shape.size(); ++d) axes.push_back("ax" + std::to_string(d));
    k_.step(schedule::ComputeAt{rows_, root_.name, task_});
    return join_lines(rows_, axes, source.shape[source.shape.size() - 2], false);
  }
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
  const bool terms_left = is_matrix() && source.shape[static_cast<size_t>(grouped)] % dot_->group != 0;
  const bool whole = is_matrix() && !leaves_terms() && !leaves_rows() && !terms_left;
  k_.step(schedule::TransformLayout{rows_, indices, whole ? "" : "0"});
  if (!in_task) k_.parallel(rows_, row + ".o");
  if (!is_matrix()) return;
  const std::string terms = "ax" + std::to_string(grouped);
  if (leaves_rows()) {
    const bool one = source.shape[static_cast<size_t>(dimension)] <= k_.cfg.value(knob("tile"), 0);
    split(rows_, one ? row : row + ".o", one ? factor("tile", 0) : Factor(1), ir::Tail::kPad);
  }
  std::string groups = terms + ".o";
  if (const int64_t by = padded_groups(dot_->group); by > 0)
    groups = split(rows_, groups, Factor(by), ir::Tail::kPad).outer;
  const bool one = source.shape[static_cast<size_t>(grouped)] <= dot_->group;
  // Whole rows one after the other, as they lie in memory.
  if (dot_->is_tile() && !one && source.shape[static_cast<size_t>(dimension)] > k_.cfg.value(knob("tile"), 0))
    k_.reorder(rows_, {row + ".i", groups});
  k_.step(schedule::Vectorize{rows_, one ? terms : terms + ".i"});
}

// Elements of the panel that whole vectors of a tile read in a line of it, rounded up to vectors.
int64_t Contraction::padded_line() {
  const int64_t lanes = lanes_of(stage_, k_.target), columns = (value("tile", 1) + lanes - 1) / lanes * lanes;
  const ir::Expr& at = roles_.vectors.read->at().back();
  int64_t line = 1 + (columns - 1) * step_along(at, axis(roles_.lanes).var).value_or(1);
  for (const Axis& sum : stage_.sums) line += (sum.extent - 1) * std::abs(step_along(at, sum.var).value_or(0));
  return (line + lanes - 1) / lanes * lanes;
}

// Sums that are padded read all terms of an iteration, and those of whole tiles all of a tile: so many groups of
// `group` terms; 0 where these are there.
int64_t Contraction::padded_groups(int64_t group) {
  const bool all = pads() || leaves_rows();
  const int64_t terms = dot_->group * (all ? value("unroll") : 1);
  return (all || dot_->pads_terms) && dot_->terms % terms != 0 ? terms / group : 0;
}

// What is packed for dot products, where it is copied as it lies. Gives whether it is.
bool Contraction::vectorize_terms(const std::string& lane, const std::string& groups) {
  const Stage& source = source_of(roles_.vectors);
  const int grouped = dimension_of(*roles_.vectors.read, stage_.sums.back());
  const int64_t group = dot_->side_by_side();
  const auto last = static_cast<int>(source.shape.size()) - 1;
  const bool lanes_in_place = roles_.lane_dimension == last;
  if (grouped < 0 || source.shape[static_cast<size_t>(grouped)] <= group || (!lanes_in_place && grouped != last))
    return false;
  const std::string terms = panel_axes()[static_cast<size_t>(grouped)];
  return vectorize_dot_panel(k_, {panel_, groups, lane, terms + ".i", k_.cfg.value(knob("tile"), 1), group,
                                  lanes_of(source, k_.target), lanes_in_place, pads()});
}

// Lanes innermost, in memory as well.
void Contraction::place_panel() {
  if (k_.cfg.value_json(knob("pack")) == "\"whole\"") return place_whole();
  k_.step(schedule::ComputeAt{panel_, packed_at_stage_, packed_at_});
  const std::vector<std::string> names = panel_axes();
  if (dot_) {
    const std::string& lane = names[static_cast<size_t>(roles_.lane_dimension)];
    const bool terms_left = leaves_terms() || has_terms_left(source_of(roles_.vectors));
    k_.step(schedule::TransformLayout{panel_, panel_indices(lane), terms_left ? "0" : ""});
    const int grouped = dimension_of(*roles_.vectors.read, stage_.sums.back());
    std::string groups = names[static_cast<size_t>(grouped)] + ".o";
    if (const int64_t by = padded_groups(dot_->side_by_side()); by > 0)
      groups = split(panel_, groups, Factor(by), ir::Tail::kPad).outer;
    if (!vectorize_terms(lane, groups) && pads()) split(panel_, lane, Factor(dot_->lanes), ir::Tail::kPad);
    return;
  }
  const bool moves = group_.has(roles_.vectors.through) && !roles_.vectors.prologue();
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
  if (!group_.has(through)) return;
  const Stage& stage = k_.graph.at(through);
  const std::string place = k_.cfg.value_json(knob("place"));
  if (place == "\"inline\"") {
    k_.step(schedule::ComputeInline{stage.name});
    return;
  }
  if (place == "\"task\"") k_.step(schedule::ComputeAt{stage.name, root_.name, task_});
  std::vector<std::string> axes;
  for (const Axis& a : stage.data) axes.push_back(a.name);
  const int64_t pixels = stage.data.size() < 2 ? 1 : stage.data[stage.data.size() - 2].extent;
  if (joins_sums()) return join_lines(stage.name, axes, pixels, place == "\"root\"");
  if (const int64_t wide = padded_pixels(pixels); wide > pixels) {
    const auto [outer, inner] = split(stage.name, axes[axes.size() - 2], Factor(wide), ir::Tail::kPad);
    axes[axes.size() - 2] = outer;
    axes.insert(axes.end() - 1, inner);
  }
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

}  // namespace tw::autotune::sketch
