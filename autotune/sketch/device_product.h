// What the rules for products on devices have in common: a block computes a tile of the result, by Steps of a stage of
// sums and of what reads it in place.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/device.h"

namespace tw::autotune::sketch {

class DeviceProduct {
 protected:
  DeviceProduct(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        stage_(sketch.graph.at(group.anchor)),
        root_(sketch.graph.at(group.root)),
        roles_(*roles_of(sketch.graph, group.anchor)),
        tiled_(whole_sums(stage_, roles_)) {}

  std::string knob(const char* what) const { return stage_.name + "." + what; }
  int64_t value(const char* what, int part = 0) const { return k_.cfg.value(knob(what), part); }
  schedule::Factor factor(const char* what, int part = 0) const { return k_.cfg.factor(knob(what), part); }
  schedule::Factor tile(int part) const { return factor("tile", part); }
  // The inner one of both loops.
  std::string split(const std::string& stage, const std::string& loop, schedule::Factor by,
                    ir::Tail tail = ir::Tail::kAuto) {
    return k_.split(stage, loop, std::move(by), tail).inner;
  }

  const Axis& row_of(const Stage& stage) const { return stage.data[static_cast<size_t>(roles_.rows)]; }
  const Axis& column_of(const Stage& stage) const { return stage.data[static_cast<size_t>(roles_.lanes)]; }
  bool has_lines() const { return line_ >= 0; }
  std::string line_of(const Stage& stage) const { return stage.data[static_cast<size_t>(line_)].name; }
  // Those that no tile has more than one iteration of, whatever is done with lines.
  std::vector<std::string> outer_axes(const Stage& stage) const {
    std::vector<std::string> outer;
    for (const int d : outer_) outer.push_back(stage.data[static_cast<size_t>(d)].name);
    return outer;
  }

  // Among how many blocks terms are shared, by a knob where several numbers are worth it: whether they are.
  bool choose_parts(const std::vector<int64_t>& parts) {
    if (parts.size() < 2) return false;
    k_.cfg.define_knob(knob("parts"), parts);
    parts_ = value("parts");
    return true;
  }
  // Whether the sums are tiled at root, not within what reads them.
  bool at_root() const { return parts_ > 1 || &stage_ == &root_; }

  Sketch& k_;
  const Group& group_;
  const Stage& stage_;
  const Stage& root_;
  const Roles roles_;
  int line_ = roles_.share;  // a data axis of which a tile has several iterations, as of rows and columns; -1: none
  std::vector<int> outer_ = roles_.outer;  // the others
  TiledSums tiled_;
  int64_t parts_ = 1;
};

}  // namespace tw::autotune::sketch
