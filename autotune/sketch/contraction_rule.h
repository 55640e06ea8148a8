// The rule for contractions at work: the knobs of a space (contraction.cc), the tiles of outputs and sums
// (contraction_tiles.cc, contraction_asked.cc), and the copies of operands (contraction_copies.cc).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

class Contraction {
 public:
  Contraction(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        root_(sketch.graph.at(group.root)),
        roles_(*best_roles(sketch.graph, group.anchor, sketch.target)),
        packed_ahead_(can_be_packed_ahead()),
        dot_(usable_dot()) {}

  void run();

 private:
  const Axis& axis(int d) const { return stage_.data[static_cast<size_t>(d)]; }
  std::string output_axis(int d) const { return root_.data[static_cast<size_t>(d)].name; }
  std::string knob(const char* what) const { return stage_.name + "." + what; }
  int64_t value(const char* what, int part = 0) { return k_.cfg.value(knob(what), part); }
  schedule::Factor factor(const char* what, int part = 0) const { return k_.cfg.factor(knob(what), part); }
  Sketch::Halves split(const std::string& stage, const std::string& loop, schedule::Factor by,
                       ir::Tail tail = ir::Tail::kAuto) {
    return k_.split(stage, loop, std::move(by), tail);
  }

  const Stage& source_of(const Operand& operand) const { return k_.graph.at(operand.source); }
  bool is_matrix() const { return dot_ && dot_->rows > 1; }
  bool joins_sums() const { return dot_ && dot_->sums > 1; }

  // What there is to choose (contraction.cc).
  void define_knobs();
  std::vector<std::string> blocks() const;
  std::vector<std::string> places() const;
  bool pads_with_zeros() const;
  bool can_be_packed_ahead() const;
  std::optional<Dot> usable_dot() const;
  bool can_pack() const;
  bool can_pack_whole() const {
    return (roles_.vectors.through < 0 || roles_.vectors.prologue()) && !dot_ && (roles_.contiguous || turns_once());
  }
  bool turns_once() const;
  bool turns() const;
  bool reads_whole_rows() const;
  bool can_copy_rows() const;
  bool can_turn_rows() const;
  bool can_widen() const;
  bool has_small_factor();
  bool panels_inside();
  bool reads_long_rows() const;
  bool goes_along_rows();
  bool streams() const;

  // What was chosen.
  bool packs() { return can_pack() && k_.cfg.value_json(knob("pack")) != "\"no\""; }
  bool copies_rows() {
    if (joins_sums()) return roles_.broadcast.through < 0;
    return dot_ && dot_->packs_rows() && (!dot_->may_stay || value("copy_rows") == 1);
  }
  bool leaves_rows() const { return dot_ && axis(roles_.rows).extent % dot_->rows != 0; }
  bool leaves_columns() const { return dot_ && axis(roles_.lanes).extent % dot_->lanes != 0; }
  bool leaves_terms() const {
    return dot_ && (dot_->pads_terms || pads_channels() || dot_->terms % dot_->side_by_side() != 0);
  }
  bool pads_channels() const { return joins_sums() && dot_->channels > stage_.sums.back().extent; }
  // Whether pixels of a line leave out other terms. Then a tile is at one place of its line in all lines: loops are cut
  // at the ends of lines.
  bool leaves_terms_out();
  // Rounded up to whole vectors, the sums as well as the panel.
  bool pads() {
    if (dot_) return dot_->pads;
    if (value("block") != 0) return false;
    const bool by_task = packs() && k_.cfg.value_json(knob("pack")) == "\"task\"";
    return by_task ? pads_lanes(k_.graph, stage_, roles_, k_.target)
                   : lays_out_whole_tiles() && ends_in_vectors(stage_, roles_, k_.target);
  }
  // [j // 64, k, j % 64] of all columns at once: those of the last tile are there too.
  bool lays_out_whole_tiles() {
    const bool whole = packs() && k_.cfg.value_json(knob("pack")) == "\"whole\"" && !turns() && !turns_once();
    return (packed_ahead_ || whole) && !k_.any_size && value("tile", 1) % lanes_of(stage_, k_.target) == 0;
  }

  // Loops (contraction_tiles.cc).
  void turn_sums();
  void lay_out_matrices();
  void tile_outputs();
  void tile_sums();
  std::vector<std::string> join_terms(std::vector<std::string> terms);
  std::vector<std::string> split_terms(std::vector<std::string> terms);
  std::vector<std::string> distances() const;
  void fetch_ahead(const std::string& terms);

  // Tiles that nobody reads (contraction_asked.cc).
  void leave_out_tiles();
  int64_t tile_along(const ir::Expr& axis_of_outputs);

  // Copies (contraction_copies.cc).
  void lay_out_ahead();
  std::string pack_stage();
  bool has_terms_left(const Stage& source) const;
  std::vector<std::string> panel_axes() const;
  std::vector<std::string> panel_indices(const std::string& lane) const;
  std::vector<int> grouped_dimensions() const;
  void place_panel();
  void place_whole();
  std::string turn_panel();
  bool vectorize_terms(const std::string& lane, const std::string& groups);
  int64_t padded_line();
  int64_t padded_groups(int64_t group);
  int64_t padded_pixels(int64_t pixels);
  void place_rows();
  void join_lines(const std::string& copy, std::vector<std::string> axes, int64_t pixels, bool parallel);
  void place_broadcast();
  void place_wide(const std::string& copy);
  void copy_in_vectors(const std::string& copy, const std::vector<std::string>& axes, int64_t extent, int64_t lanes,
                       bool parallel);

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Stage& root_;
  const Roles roles_;
  const bool packed_ahead_;
  const std::optional<Dot> dot_;
  int64_t lines_ = 1;  // of a tile
  std::string sums_, panel_, rows_;
  std::string task_, tile_loop_, panel_loop_;  // of the outputs
  std::string block_loop_;                     // of the sums
  std::string packed_at_stage_, packed_at_;    // where the panel is packed
};

}  // namespace tw::autotune::sketch
