// Pointwise stages, which move values or compute each from a few: arithmetic, transposes, gathers, concatenation.
//
//   B[i, j] = f(A[i, j])    ==>    parallel i*j.o: for i*j.i.o: vectorized i*j.i.i
//   B[i, j] = A[j, i]       ==>    parallel i.o: for j.o: for i.i unrolled: vectorized j.i
//   B[i, 3] = A[i, 3] ...   ==>    parallel i.o: for i.i.o: for j unrolled: vectorized i.i.i     (short_axes.h)
//
// Where all reads are in place the stage is one long row, whatever its shape. Where some read runs along another axis
// than the result does, tiles of both axes use whole cache lines of both, or blocks of such tiles (transposed.h). Where
// subscripts are digits of the last axis, j // 17 and j % 17, vectors begin where a digit does: lanes are then elements
// side by side, and nothing is divided.
#include <algorithm>
#include <numeric>

#include "autotune/sketch/from_memory.h"
#include "autotune/sketch/short_axes.h"
#include "autotune/sketch/transposed.h"
#include "src/ir/register_lanes.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int kNoAxis = -1;

// Whether every read is of the element that is written, in a tensor of the same shape.
bool one_row(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  return std::all_of(stage.reads.begin(), stage.reads.end(),
                     [&](const Access& read) { return reads_in_place(graph, root, read.stage); });
}

// An axis but the last along which something is contiguous that is not along the last.
int crossed_axis(const Stage& stage) {
  for (const Access& read : stage.reads)
    for (int d = 0; d + 1 < static_cast<int>(stage.data.size()); ++d)
      if (stage.data[static_cast<size_t>(d)].extent > 1 &&
          stride_along(read, stage.data[static_cast<size_t>(d)]) == 1 && read.uses(stage.data.back()))
        return d;
  return kNoAxis;
}

class Pointwise {
 public:
  Pointwise(Sketch& sketch, const Group& group)
      : sketch_(sketch),
        stage_(sketch.graph.at(group.root)),
        lanes_(lanes_of(stage_, sketch.target)),
        crossed_(crossed_axis(stage_)),
        flat_(crossed_ == kNoAxis && one_row(sketch.graph, group.root)) {}

  void run() {
    if (!flat_)
      if (const auto found = short_axes(sketch_.graph, stage_, computed_lanes())) return over_short_axes(*found);
    const bool one_axis = flat_ || stage_.data.size() == 1;
    const int64_t part = one_axis ? 0 : whole_digits();
    define_tile(part);
    if (const int64_t columns = block_columns()) return turn_in_blocks(sketch_, stage_, lanes_, columns);
    std::vector<std::string> outer, inner;
    for (size_t d = 0; d + 1 < stage_.data.size(); ++d)
      if (static_cast<int>(d) != crossed_) outer.push_back(stage_.data[d].name);
    std::string lane = stage_.data.back().name;
    if (crossed_ != kNoAxis) cross(outer, inner);
    if (one_axis) {
      outer.push_back(lane);
      lane = sketch_.fuse(stage_.name, outer);
      outer = chunk(lane);
      lane += ".i";
    }
    if (part > kMostVectors * lanes_) {
      sketch_.split(stage_.name, lane, part);
      outer.push_back(lane + ".o");
      lane += ".i";
    }
    sketch_.split(stage_.name, lane, sketch_.cfg.factor(knob("lanes")));
    std::vector<std::string> order = outer;
    order.push_back(lane + ".o");
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lane + ".i");
    sketch_.reorder(stage_.name, order);
    sketch_.step(schedule::Vectorize{stage_.name, lane + ".i"});
    share(outer);
  }

 private:
  static constexpr int64_t kMostVectors = 16;

  std::string knob(const std::string& what) const { return stage_.name + "." + what; }
  // Elements of the last axis that begin and end with a digit of it, and are vectors; 0 where all vectors are such, or
  // none has digits.
  int64_t whole_digits() const {
    const int64_t digit = least_divisor(stage_, stage_.data.back());
    if (4 * lanes_ % digit == 0) return 0;
    return digit >= lanes_ ? digit : std::lcm(digit, lanes_);
  }
  int64_t row() const { return flat_ ? stage_.elements : stage_.data.back().extent; }

  // The rows of a tile; several, and each vector that is read along them meets the same cache lines again. One vector
  // in each: of several none is turned. `part`: whole digits of the last axis.
  void define_tile(int64_t part) {
    const std::vector<int64_t> vectors = {4 * lanes_, lanes_, 2 * lanes_, kMostVectors * lanes_};
    if (crossed_ != kNoAxis)
      sketch_.cfg.define_knob(knob("rows"),
                              up_to(stage_.data[static_cast<size_t>(crossed_)].extent, {lanes_, 4, 8, 2 * lanes_, 1}));
    if (part > kMostVectors * lanes_)
      sketch_.cfg.define_knob(knob("lanes"), up_to(part, vectors));
    else if (part > 0)
      sketch_.cfg.define_knob(knob("lanes"), {part});
    else if (crossed_ != kNoAxis)
      sketch_.cfg.define_knob(knob("lanes"), {std::clamp<int64_t>(row(), 1, lanes_)});
    else
      sketch_.cfg.define_knob(knob("lanes"), up_to(row(), vectors));
  }
  void share(const std::vector<std::string>& outer) {
    if (stage_.operations >= kParallelWork) sketch_.parallel(stage_.name, sketch_.fuse(stage_.name, outer));
    store_past_caches(sketch_, stage_);
  }
  // 0 where there are no blocks.
  int64_t block_columns() {
    std::vector<int64_t> columns = columns_of_blocks(sketch_.graph, stage_);
    if (columns.empty()) return 0;
    columns.push_back(0);
    sketch_.cfg.define_knob(knob("block"), columns);
    return sketch_.cfg.value(knob("block"));
  }
  void cross(std::vector<std::string>& outer, std::vector<std::string>& inner) {
    const Axis& axis = stage_.data[static_cast<size_t>(crossed_)];
    sketch_.split(stage_.name, axis.name, sketch_.cfg.factor(knob("rows")));
    outer.push_back(axis.name + ".o");
    inner.push_back(axis.name + ".i");
    sketch_.step(schedule::Unroll{stage_.name, axis.name + ".i"});
  }

  // Threads take shares of the one row.
  std::vector<std::string> chunk(const std::string& loop) {
    sketch_.cfg.define_knob(knob("tasks"), up_to(stage_.elements, {16, 2, 4, 64}));
    sketch_.split_in(stage_.name, loop, sketch_.cfg.factor(knob("tasks")));
    return {loop + ".o"};
  }

  // Of the widest type that it computes with.
  int64_t computed_lanes() const {
    int64_t lanes = lanes_;
    for (const ir::Expr& body : stage_.bodies)
      ir::walk(body, [&](const ir::Expr& e) {
        if (!e.type().is_index())
          lanes = std::min<int64_t>(lanes, ir::register_lanes(sketch_.target, e.type().element()));
        return !ir::as<ir::Load>(e);
      });
    return lanes;
  }
  void over_short_axes(const ShortAxes& axes);

  Sketch& sketch_;
  const Stage& stage_;
  const int64_t lanes_;
  const int crossed_;
  const bool flat_;
};

void Pointwise::over_short_axes(const ShortAxes& axes) {
  const int64_t lanes = computed_lanes();
  std::vector<std::string> outer, last;
  std::vector<int64_t> ways;
  if (axes.fused) ways.push_back(1);
  if (axes.unrolled) ways.insert(axes.in_place ? ways.end() : ways.begin(), 0);
  if (ways.size() > 1) sketch_.cfg.define_knob(knob("fused"), ways);
  const bool fused = ways.size() > 1 ? sketch_.cfg.value(knob("fused")) == 1 : axes.fused;
  for (size_t d = 0; d < stage_.data.size(); ++d)
    if (d != axes.next) (d < axes.next ? outer : last).push_back(stage_.data[d].name);
  std::string lane = stage_.data[axes.next].name;
  int64_t row = stage_.data[axes.next].extent;
  if (axes.digit) {
    sketch_.split(stage_.name, lane, axes.elements);
    last.push_back(lane + ".i");
    lane += ".o";
    row /= axes.elements;
  } else if (fused) {
    last.insert(last.begin(), lane);
    lane = sketch_.fuse(stage_.name, last);
    last.clear();
    row *= axes.elements;
  }
  if (outer.empty()) {
    outer = chunk(lane);
    lane += ".i";
  }
  sketch_.cfg.define_knob(knob("vectors"), {1, 2, 4});
  const int64_t unit = fused && axes.cycles ? std::lcm(axes.elements, lanes) : lanes;
  const int64_t width = std::min(unit > lanes ? unit : unit * sketch_.cfg.value(knob("vectors")), row);
  sketch_.split(stage_.name, lane, width);
  std::vector<std::string> order = outer;
  order.push_back(lane + ".o");
  order.insert(order.end(), last.begin(), last.end());
  order.push_back(lane + ".i");
  sketch_.reorder(stage_.name, order);
  for (const std::string& loop : last) sketch_.step(schedule::Unroll{stage_.name, loop});
  sketch_.step(schedule::Vectorize{stage_.name, lane + ".i"});
  share(outer);
}

}  // namespace

std::optional<Group> match_pointwise(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kPointwise || stage.data.empty() || stage.elements < 2) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_pointwise(Sketch& sketch, const Group& group) { Pointwise(sketch, group).run(); }

}  // namespace tw::autotune::sketch
