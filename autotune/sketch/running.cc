// Recurrences along rows: sums[t, i] = sums[t - 1, i] + X[i, t], stored as Y[i, t]. Rows are lanes.
//
//   parallel i.o:
//     for t.o:
//       a tile of X, turned in registers: X.global[t, i]
//       for t unrolled: next, sums: vectorized i
//       a tile of Y, turned back: i.i unrolled, t.i vectorized
//
// The scan continues at each t.o from the states of the one before, so that nothing but tiles is kept. Each row is
// added in the order in which it is defined.
#include <algorithm>
#include <set>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/simplify.h"
#include "tensorwright/machine.h"

namespace tw::autotune::sketch {

namespace {

constexpr int kNoAxis = -1;
constexpr int64_t kFewest = 4;  // rows that are worth turning

int axis_of(const std::vector<Axis>& axes, const ir::Expr& subscript) {
  const auto* var = ir::as<ir::VarRef>(subscript);
  for (size_t d = 0; var && d < axes.size(); ++d)
    if (axes[d].var == var->var) return static_cast<int>(d);
  return kNoAxis;
}

// Of a block: a cache line of a row, and no more than is worth writing out.
int64_t times_of(const Stage& stage) {
  return std::min<int64_t>(16, kCacheLineBytes / std::max(1, stage.type.bytes()));
}

// The root's axes that the scan's stand for, where it reads the scan at its own place and the last one is time.
std::vector<int> axes_of_scan(const Stage& root, int scan) {
  std::vector<int> axes;
  for (const Access& read : root.reads) {
    if (read.stage != scan) continue;
    std::vector<int> here;
    for (const ir::Expr& at : read.at()) here.push_back(axis_of(root.data, at));
    if (!axes.empty() && here != axes) return {};
    axes = here;
  }
  const std::set<int> distinct(axes.begin(), axes.end());
  const bool all =
      distinct.size() == root.data.size() && axes.size() == root.data.size() && !distinct.contains(kNoAxis);
  return all && axes.size() >= 2 && axes[0] + 1 == static_cast<int>(axes.size()) ? axes : std::vector<int>{};
}

// How many times before its own a stage reads, where that is a number.
std::optional<int64_t> times_back(const Stage& stage, const Access& read) {
  return ir::as_int(ir::simplify(ir::Expr(stage.data[0].var) - read.at()[0]));
}

// Whether it reads states and other stages of the scan nowhere but in its own row, few times back.
bool stays_in_row(const Graph& graph, const Stage& stage, int scan) {
  if (stage.kind != StageKind::kPointwise || stage.data.size() != graph.at(scan).data.size()) return false;
  for (const Access& read : stage.reads) {
    if (read.stage != scan && graph.at(read.stage).scan != scan) continue;
    for (size_t d = 1; d < stage.data.size(); ++d)
      if (axis_of(stage.data, read.at()[d]) != static_cast<int>(d)) return false;
    const auto back = times_back(stage, read);
    if (!back || *back < 0 || *back * 2 >= times_of(graph.at(scan))) return false;
  }
  return true;
}

// The scan whose rows the root stores; -1: none.
int scan_of(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.kind != StageKind::kPointwise || last.elements < 1) return -1;
  for (const Access& read : last.reads) {
    const Stage& scan = graph.at(read.stage);
    if (scan.kind != StageKind::kScan || scan.output || scan.readers != std::vector<int>{root}) continue;
    const std::vector<int> axes = axes_of_scan(last, read.stage);
    bool fits = !axes.empty() && scan.same_shapes && scan.data.back().extent >= kFewest;
    for (size_t d = 0; fits && d < axes.size(); ++d)
      fits = scan.data[d].extent == last.data[static_cast<size_t>(axes[d])].extent;
    for (const Stage& stage : graph.stages)
      fits = fits && (stage.scan != read.stage || stage.inlined || stays_in_row(graph, stage, read.stage));
    if (fits) return read.stage;
  }
  return -1;
}

class Running {
 public:
  Running(Sketch& sketch, const Group& group)
      : k_(sketch),
        group_(group),
        root_(sketch.graph.at(group.root)),
        scan_(sketch.graph.at(group.anchor)),
        axes_(axes_of_scan(root_, group.anchor)) {}

  void run() {
    // Rows of X and Y often lie a power of two apart: those of half a vector find room in one set of an L1.
    const int64_t lanes = lanes_of(scan_, k_.target),
                  rows = std::clamp<int64_t>(lanes / 2, std::min<int64_t>(lanes, 4), 16);
    const int64_t times = times_of(scan_);
    k_.cfg.define_knob(knob("rows"), up_to(lane_axis().extent, {rows, rows / 2}));
    k_.cfg.define_knob(knob("times"), up_to(root_.data.back().extent, {times, times / 2}));
    tile_root();
    for (int member : group_.members) place(member);
    turn_inputs();
  }

 private:
  std::string knob(const std::string& what) const { return scan_.name + "." + what; }
  const Axis& lane_axis() const { return root_.data[static_cast<size_t>(axes_.back())]; }
  bool inside(const Stage& stage) const { return stage.scan == group_.anchor; }

  void tile_root();
  void place(int member);
  void turn_inputs();
  bool crosses(const Stage& reader, const Access& read) const;
  std::string direct_reader(const Stage& reader, int source) const;
  void turn(int source, const Access& read, const Axis& lane, const std::vector<std::string>& readers);
  std::string lanes(const std::string& stage, const std::string& axis);

  Sketch& k_;
  const Group& group_;
  const Stage& root_;
  const Stage& scan_;
  const std::vector<int> axes_;  // of the root, for each of the scan's
  std::string rows_, block_;     // loops of the root: over rows, over blocks of times
};

void Running::tile_root() {
  const std::string row = lane_axis().name, time = root_.data.back().name;
  k_.split(root_.name, row, k_.cfg.factor(knob("rows")));
  k_.split(root_.name, time, k_.cfg.factor(knob("times")));
  std::vector<std::string> outer;
  for (size_t d = 0; d + 1 < root_.data.size(); ++d)
    if (static_cast<int>(d) != axes_.back()) outer.push_back(root_.data[d].name);
  outer.push_back(row + ".o");
  std::vector<std::string> order = outer;
  order.insert(order.end(), {time + ".o", row + ".i", time + ".i"});
  k_.reorder(root_.name, order);
  k_.step(schedule::Unroll{root_.name, row + ".i"});
  k_.step(schedule::Vectorize{root_.name, time + ".i"});
  rows_ = k_.fuse(root_.name, outer);
  block_ = time + ".o";
  if (static_cast<double>(scan_.elements) >= kParallelWork) k_.parallel(root_.name, rows_);
}

// The lanes of a stage, as many as the tile has rows, as its innermost loop.
std::string Running::lanes(const std::string& stage, const std::string& axis) {
  k_.split(stage, axis, k_.cfg.factor(knob("rows")));
  k_.step(schedule::Vectorize{stage, axis + ".i"});
  return axis + ".o";
}

void Running::place(int member) {
  const Stage& stage = k_.graph.at(member);
  if (member == group_.root) return;
  if (member == group_.anchor) {
    k_.step(schedule::ComputeAt{stage.name, root_.name, block_});
    k_.step(schedule::Unroll{stage.name, stage.data[0].name});
  } else if (!inside(stage)) {
    k_.step(schedule::ComputeAt{stage.name, root_.name, rows_});
  }
  lanes(stage.name, stage.data.back().name);
}

// Whether its elements lie side by side along time, and lanes are apart.
bool Running::crosses(const Stage& reader, const Access& read) const {
  const int row = dimension_of(read, reader.data.back());
  return stride_along(read, reader.data[0]) == 1 && row >= 0 && row + 1 < static_cast<int>(read.at().size());
}

// The stage that itself reads `source` for the reader: the reader, or one that is inlined in it alone; "" where there
// are others.
std::string Running::direct_reader(const Stage& reader, int source) const {
  const auto reads = [](const Stage& stage, int other) { return std::ranges::count(stage.direct, other) > 0; };
  if (reads(reader, source)) return reader.name;
  std::string found;
  for (const int through : reader.direct) {
    const Stage& stage = k_.graph.at(through);
    if (!stage.inlined || std::ranges::count(stage.sources, source) == 0) continue;
    if (!found.empty() || stage.readers.size() != 1 || !reads(stage, source)) return "";
    found = stage.name;
  }
  return found;
}

void Running::turn_inputs() {
  for (int source = 0; source < static_cast<int>(k_.graph.stages.size()); ++source) {
    const Stage& from = k_.graph.at(source);
    if (source == group_.anchor || inside(from) || !from.same_shapes) continue;
    std::vector<std::string> readers;
    const Access* turned = nullptr;
    const Axis* lane = nullptr;
    bool all = true;
    for (const Stage& reader : k_.graph.stages) {
      if (!inside(reader) || reader.inlined) continue;
      for (const Access& read : reader.reads) {
        if (read.stage != source) continue;
        all = all && crosses(reader, read) &&
              (!turned || dimension_of(read, reader.data.back()) == dimension_of(*turned, *lane));
        turned = &read, lane = &reader.data.back();
        const std::string direct = direct_reader(reader, source);
        all = all && !direct.empty();
        if (readers.empty() || readers.back() != direct) readers.push_back(direct);
      }
    }
    if (turned && all) turn(source, *turned, *lane, readers);
  }
}

void Running::turn(int source, const Access& read, const Axis& lane, const std::vector<std::string>& readers) {
  const std::string tile = k_.cache_read(k_.graph.at(source).name, readers);
  std::vector<std::string> names;
  for (size_t d = 0; d < read.at().size(); ++d) names.push_back("ax" + std::to_string(d));
  const auto at = names.begin() + dimension_of(read, lane);
  std::rotate(at, at + 1, names.end());
  k_.step(schedule::TransformLayout{tile, names, ""});
  k_.step(schedule::ComputeAt{tile, root_.name, block_});
  const std::string time = names[names.size() - 2];
  names.back() = lanes(tile, names.back());
  const std::string lane_loop = names.back().substr(0, names.back().size() - 1) + "i";
  std::swap(names[names.size() - 2], names.back());
  names.push_back(lane_loop);
  k_.reorder(tile, names);
  k_.step(schedule::Unroll{tile, time});
}

}  // namespace

std::optional<Group> match_running(const Graph& graph, int root) {
  const int scan = scan_of(graph, root);
  if (scan < 0) return std::nullopt;
  Group group{root, scan, {}};
  const std::vector<int>& direct = graph.at(scan).direct;
  for (int i = 0; i < scan; ++i) {
    const Stage& stage = graph.at(i);
    const bool begins = std::find(direct.begin(), direct.end(), i) != direct.end() && !stage.output &&
                        stage.kind == StageKind::kPointwise && stage.readers == std::vector<int>{scan} &&
                        stage.data.size() == graph.at(scan).data.size();
    if (!stage.inlined && (stage.scan == scan || begins)) group.members.push_back(i);
  }
  group.members.insert(group.members.end(), {scan, root});
  return group;
}

void apply_running(Sketch& sketch, const Group& group) { Running(sketch, group).run(); }

}  // namespace tw::autotune::sketch
