// The loops of a contraction: over the outputs, in tasks and tiles, and over the sums of a tile.
#include "autotune/sketch/contraction_rule.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

using schedule::Factor;
using schedule::Split;

namespace {

// Times as many side by side where a task goes along them again and again; no power of two, by which the rows of its
// sums would all belong to a few sets of the L1.
constexpr int64_t kLongPanels = 6;

}  // namespace

// Lanes innermost in a tile of sums, whatever they are in the output.
void Contraction::turn_sums() {
  std::vector<std::string> names;
  for (int d = 0; d < static_cast<int>(stage_.data.size()); ++d)
    if (d != roles_.lanes) names.push_back(axis(d).name);
  names.push_back(axis(roles_.lanes).name);
  k_.step(schedule::TransformLayout{sums_, names, ""});
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
  k_.step(schedule::TransformLayout{sums_, indices, leaves_columns() || leaves_rows() ? "0" : ""});
}

bool Contraction::leaves_terms_out() {
  const auto* reduce = ir::as<ir::Reduce>(stage_.bodies[0]);
  if (!!reduce->where && ir::uses_var(reduce->where, axis(roles_.rows).var)) return true;
  return pads_with_zeros() && k_.cfg.value_json(knob("place")) == "\"inline\"";
}

void Contraction::tile_outputs() {
  const std::string& name = root_.name;
  const auto [row_tiles, row] = split(name, output_axis(roles_.rows), factor("tile", 0));
  const auto [columns, lane] = split(name, output_axis(roles_.lanes), factor("tile", 1));
  const bool inside = panels_inside();
  Factor of_task = factor("panels");
  if (goes_along_rows()) of_task = Factor(kLongPanels * value("panels"));
  if (inside) of_task = Factor((axis(roles_.lanes).extent + value("tile", 1) - 1) / value("tile", 1));
  const auto [panels, panel] = split(name, columns, of_task);
  const std::string shared = roles_.share >= 0 ? output_axis(roles_.share) : row_tiles;
  k_.step(Split{name, shared, {}, factor("shares"), ir::Tail::kAuto});
  const std::string share = shared + ".o";
  std::string lines = shared + ".i", line;
  if (lines_ > 1) {
    const auto [outer, inner] = split(name, lines, factor("tile", 2));
    lines = outer, line = inner;
  }
  tile_loop_ = roles_.share >= 0 ? row_tiles : row_tiles + ".i";
  panel_loop_ = panel;
  std::vector<std::string> tasks;
  for (int d : roles_.outer) tasks.push_back(output_axis(d));
  tasks.push_back(value("rows_first") == 1 ? share : panels);
  tasks.push_back(value("rows_first") == 1 ? panels : share);
  std::vector<std::string> order = tasks;
  if (!inside) order.push_back(panel);
  std::vector<std::string> tiles = {tile_loop_};
  if (inside) tiles.push_back(panel);
  if (roles_.share >= 0) tiles.insert(leaves_terms_out() ? tiles.end() : tiles.begin(), lines);
  order.insert(order.end(), tiles.begin(), tiles.end());
  tile_loop_ = tiles.back();
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
  if (!streams() || packs() || goes_along_rows() || value("ahead") == 0) return;
  const Stage& source = source_of(roles_.vectors);
  const int64_t bytes = value("tile", 1) * source.type.bytes() * value("unroll") * (dot_ ? dot_->group : 1);
  k_.step(schedule::Prefetch{sums_, source.name, terms, std::max<int64_t>(value("ahead") / bytes, 1), "", "",
                             value("ahead", 1) == 2 ? "L2" : ""});
}

// The last two loops as one.
std::vector<std::string> Contraction::join_terms(std::vector<std::string> terms) {
  std::string channel = terms.back(), pixel = terms[terms.size() - 2];
  terms.resize(terms.size() - 2);
  if (pads_channels()) {
    const auto [outer, inner] = split(sums_, channel, Factor(dot_->channels), ir::Tail::kPad);
    terms.push_back(outer);
    channel = inner;
  }
  std::vector<std::string> order = terms;
  order.insert(order.end(), {pixel, channel});
  if (pads_channels() || !k_.graph.first.empty()) k_.reorder(sums_, order);
  terms.push_back(k_.fuse(sums_, {pixel, channel}));
  return terms;
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
  if (joins_sums()) terms = join_terms(std::move(terms));
  const auto cut = [&](std::string& loop, Factor by, std::vector<std::string>& around) {
    const auto [outer, within] = split(sums_, loop, std::move(by));
    around.push_back(outer);
    loop = within;
  };
  if (in_blocks) {
    cut(terms.back(), factor("block"), order);
    block_loop_ = order.back();
    if (lines_ > 1) cut(line, factor("tile", 2), row_tiles);
    cut(row, factor("tile", 0), row_tiles);
  }
  const bool pads = this->pads();
  std::string vectors;  // of lanes that are rounded up
  const int64_t lanes = lanes_of(stage_, k_.target);
  if (pads && !dot_) {
    const auto [outer, within] = split(sums_, lane, Factor(lanes), ir::Tail::kPad);
    vectors = outer, lane = within;
  }
  if (in_blocks || axis(roles_.lanes).extent > kMostLanes || k_.any_size) {
    if (vectors.empty())
      cut(lane, factor("tile", 1), order);
    else
      cut(vectors, Factor(value("tile", 1) / lanes), order);
  }
  if (in_blocks) packed_at_stage_ = sums_, packed_at_ = order.back();
  inner = {row, lane};
  if (dot_) {
    split(sums_, lane, Factor(dot_->lanes), pads ? ir::Tail::kPad : ir::Tail::kAuto);
    const auto [group, term] =
        split(sums_, terms.back(), Factor(dot_->group), dot_->pads_terms ? ir::Tail::kPad : ir::Tail::kAuto);
    terms.back() = group;
    inner = {row, lane + ".o", lane + ".i", term};
  }
  if (!vectors.empty()) inner = {row, vectors, lane};
  if (is_matrix()) {
    split(sums_, row, Factor(dot_->rows), leaves_rows() ? ir::Tail::kPad : ir::Tail::kAuto);
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

}  // namespace tw::autotune::sketch
