// Reductions whose elements lie side by side in memory: windows (pooling, depthwise convolution), sums of columns, a
// vector times a matrix. A tile of the result stays in registers while the reduction runs:
//
//   parallel n, h: for w.o, c.o:               for kh, kw unrolled: for w.i unrolled: vectorized c.i: C.local += ...
//                                              for w.i unrolled: vectorized c.i: O = epilogue of C.local
//
// A long reduction reads rows of memory that are far longer than a tile: a block of the result is then a row of tiles,
// which stays in the nearest cache while a few terms at a time are added to all of it. Where the result is too small to
// keep threads busy, the reduction itself is shared out by rfactor:
//
//   parallel k.o: for k.i.o: for j.o: for k.i.i unrolled: vectorized j.i: C.rf[k.o, j] += ...
//   for j.o: for k.o: vectorized j.i: C[j] += C.rf[k.o, j]
//
// One row times a packed matrix of bytes is a contraction of one row, whose instruction adds groups of terms.
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kWindow = 64;              // terms that are written out
constexpr int64_t kMostWithConditions = 16;  // of them, where each line may be beyond a border
constexpr int64_t kSmallResult = 65536;      // elements of which a copy for each thread costs little
constexpr int64_t kEnoughTasks = 12;         // iterations that keep a few threads busy to the end
constexpr int kNoAxis = -1;

// The data axis along which most of the memory is contiguous.
int lane_axis(const Stage& sum) {
  const Access* main = main_read(sum);
  int last = kNoAxis;
  for (int d = static_cast<int>(sum.data.size()); d-- > 0;) {
    const Axis& axis = sum.data[static_cast<size_t>(d)];
    if (axis.extent < 2) continue;
    if (main && stride_along(*main, axis) == 1) return d;
    if (last == kNoAxis) last = d;
  }
  return last;
}

// Whether what a line of the window reads waits in registers for the line's next terms, as much as there are sums: rows
// are pixels of the line, lanes its channels, and factors are loaded before they are multiplied.
bool reads_wait(const Stage& sum, const Axis& rows, const Axis& lanes, const Target& target) {
  const Access* main = main_read(sum);
  return target.abilities.lane_products > 0 && main && stride_along(*main, lanes) == 1 &&
         std::ranges::any_of(main->at(), [&](const ir::Expr& at) {
           return ir::uses_var(at, rows.var) && ir::uses_var(at, sum.sums.back().var);
         });
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

class Tiles {
 public:
  Tiles(Sketch& sketch, const Group& group)
      : sketch_(sketch),
        root_(sketch.graph.at(group.root)),
        sum_(sketch.graph.at(group.anchor)),
        fused_(group.root != group.anchor),
        lanes_(lanes_of(sum_, sketch.target)),
        j_(lane_axis(sum_)) {
    for (int d = 0; d < static_cast<int>(sum_.data.size()); ++d)
      if (d != j_ && sum_.data[static_cast<size_t>(d)].extent > 1) i_ = d;
    long_ = extents(sum_.sums) > kWindow;
    narrow_ = !long_ && i_ != kNoAxis && reads_wait(sum_, axis(i_), axis(j_), sketch.target);
    shared_out_ = long_ && gives_parts(sum_) && root_.elements <= kSmallResult && sum_.sums[0].extent > 1;
  }

  void run() {
    define_knobs();
    if (shared_out_ && sketch_.cfg.value(knob("parts")) > 1)
      in_parts();
    else
      in_tiles();
  }

 private:
  std::string knob(const std::string& what) const { return sum_.name + "." + what; }
  const Axis& axis(int d) const { return sum_.data[static_cast<size_t>(d)]; }
  const std::string& name(int axis) const { return root_.data[static_cast<size_t>(axis)].name; }
  bool parallel() const { return sum_.operations >= kParallelWork; }

  bool is_padded() const {
    return std::ranges::any_of(
        sum_.direct, [&](int source) { return sketch_.graph.at(source).inlined && sketch_.graph.at(source).pads; });
  }
  // Whether vectors reach past a border, whose conditions leave the loop over them, but none that is several axes.
  bool lanes_cross_border() const {
    const Access* main = main_read(sum_);
    const auto last = std::find_if(sum_.sums.rbegin(), sum_.sums.rend(), [](const Axis& a) { return a.extent > 1; });
    return main && last != sum_.sums.rend() && stride_along(*main, *last).value_or(0) != 0 && is_padded();
  }
  // Loops of a window that may be: all, or the last where several lines would be in registers at once. Lines of a
  // padded one that is large stay a loop, which runs over those that are there: conditions of each would make code
  // long.
  std::vector<std::string> written_out(const std::vector<std::string>& sums) const {
    if (narrow_) return {sums.back()};
    const auto lines = std::ranges::find_if(sum_.sums, [](const Axis& axis) { return axis.extent > 1; });
    const auto inside = lines == sum_.sums.end() ? 0 : lines - sum_.sums.begin() + 1;
    const bool loops_inside =
        std::any_of(sum_.sums.begin() + inside, sum_.sums.end(), [](const Axis& axis) { return axis.extent > 1; });
    return extents(sum_.sums) > kMostWithConditions && is_padded() && !lanes_cross_border() && loops_inside
               ? std::vector<std::string>(sums.begin() + inside, sums.end())
               : sums;
  }

  void define_knobs();
  void in_tiles();
  std::vector<std::string> root_loops();
  std::string share(const std::vector<std::string>& outer);
  void tile_loops(const std::string& stage);
  std::vector<std::string> split_sums(const std::string& stage, std::string* inner);
  void in_parts();

  Sketch& sketch_;
  const Stage &root_, &sum_;
  const bool fused_;  // the root is an epilogue
  const int64_t lanes_;
  const int j_;
  int i_ = kNoAxis;
  bool long_ = false;        // too many terms to write them out
  bool narrow_ = false;      // a window whose reads leave less than half of the registers to sums
  bool shared_out_ = false;  // the reduction may be
  bool collapses_ = false;   // there is a choice of parallel loops
};

void Tiles::define_knobs() {
  Config& cfg = sketch_.cfg;
  const int64_t columns = root_.data[static_cast<size_t>(j_)].extent;
  std::vector<int64_t> lanes = {lanes_, 2 * lanes_, 3 * lanes_, 4 * lanes_}, rows = {4, 1, 2, 3, 6, 7, 8};
  if (narrow_) lanes.resize(2), rows.pop_back();
  cfg.define_knob(knob("lanes"), up_to(columns, lanes));
  if (i_ != kNoAxis) cfg.define_knob(knob("rows"), up_to(root_.data[static_cast<size_t>(i_)].extent, rows));
  if (shared_out_) cfg.define_knob(knob("parts"), up_to(sum_.sums[0].extent, {1, 2, 4, 8, 16}));
  int64_t untiled = 1;
  for (int d = 0; d < static_cast<int>(root_.data.size()); ++d)
    if (d != i_ && d != j_) untiled *= root_.data[static_cast<size_t>(d)].extent;
  collapses_ = untiled >= kEnoughTasks;
  if (collapses_)
    cfg.define_knob(knob("collapse"), lanes_cross_border() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1});
  if (!long_) return cfg.define_annotate(knob("unroll"), written_out(names_of(sum_.sums)), "try_unroll");
  cfg.define_knob(knob("block"), up_to(columns, {12 * lanes_, 48 * lanes_, 192 * lanes_, columns}));
  cfg.define_knob(knob("terms"), up_to(sum_.sums.back().extent, {4, 8, 16, 1}));
  cfg.define_knob(knob("streams"), {0, 1});
}

void Tiles::in_tiles() {
  if (!fused_) sketch_.step(schedule::CacheWrite{sum_.name, ir::Scope::kLocal});
  const std::string stage = fused_ ? sum_.name : sum_.name + ".local";
  const std::string at = share(root_loops());
  sketch_.step(schedule::ComputeAt{stage, root_.name, at});
  tile_loops(stage);
}

// Splits the root's loops into those over tiles, which it gives, and those of a tile.
std::vector<std::string> Tiles::root_loops() {
  std::vector<std::string> outer, inner;
  for (int d = 0; d < static_cast<int>(root_.data.size()); ++d)
    if (d != i_ && d != j_) outer.push_back(name(d));
  if (i_ != kNoAxis) {
    sketch_.split(root_.name, name(i_), sketch_.cfg.factor(knob("rows")));
    outer.push_back(name(i_) + ".o");
    inner.push_back(name(i_) + ".i");
  }
  std::string lane = name(j_);
  if (long_) {
    sketch_.split(root_.name, lane, sketch_.cfg.factor(knob("block")));
    outer.push_back(lane + ".o");
    lane += ".i";
  }
  sketch_.split(root_.name, lane, sketch_.cfg.factor(knob("lanes")));
  (long_ ? inner : outer).push_back(lane + ".o");
  inner.push_back(lane + ".i");
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  sketch_.reorder(root_.name, order);
  if (i_ != kNoAxis) sketch_.step(schedule::Unroll{root_.name, name(i_) + ".i"});
  sketch_.step(schedule::Vectorize{root_.name, inner.back()});
  return outer;
}

// The loops of the root's axes without a tile are parallel, or all outer ones where that is too few or the knob says
// so; gives the innermost loop around tiles.
std::string Tiles::share(const std::vector<std::string>& outer) {
  if (!parallel()) return outer.back();
  const bool all = !collapses_ || sketch_.cfg.value(knob("collapse")) == 1;
  const size_t untiled = root_.data.size() - (i_ == kNoAxis ? 1 : 2);
  const std::vector<std::string> shared(outer.begin(),
                                        all ? outer.end() : outer.begin() + static_cast<ptrdiff_t>(untiled));
  const std::string loop = sketch_.fuse(root_.name, shared);
  sketch_.parallel(root_.name, loop);
  return all ? loop : outer.back();
}

void Tiles::tile_loops(const std::string& stage) {
  std::vector<std::string> order, inner;
  for (int d = 0; d < static_cast<int>(sum_.data.size()); ++d)
    if (d != i_ && d != j_) order.push_back(sum_.data[static_cast<size_t>(d)].name);
  const std::string j = sum_.data[static_cast<size_t>(j_)].name;
  sketch_.split(stage, j, sketch_.cfg.factor(knob("lanes")));
  std::string terms;
  const std::vector<std::string> sums = split_sums(stage, &terms);
  order.insert(order.end(), sums.begin(), sums.end());
  order.push_back(j + ".o");
  if (!terms.empty()) order.push_back(terms);
  if (i_ != kNoAxis) order.push_back(sum_.data[static_cast<size_t>(i_)].name);
  order.push_back(j + ".i");
  sketch_.reorder(stage, order);
  if (i_ != kNoAxis) sketch_.step(schedule::Unroll{stage, sum_.data[static_cast<size_t>(i_)].name});
  sketch_.step(schedule::Vectorize{stage, j + ".i"});
  if (long_) return;
  sketch_.cfg.apply_annotate(knob("unroll"), sketch_.s, stage, written_out(sums));
}

// The reduction's loops; of a long one, the terms that are added to a tile at a time are a loop of their own. They may
// lie far apart: memory gives several streams faster than one.
std::vector<std::string> Tiles::split_sums(const std::string& stage, std::string* terms) {
  std::vector<std::string> sums = sum_loops(sketch_.s, stage);
  if (!long_) return sums;
  const std::string last = sums.back();
  const schedule::Factor count = sketch_.cfg.factor(knob("terms"));
  if (sketch_.cfg.value(knob("streams")) == 1) {
    sketch_.split_in(stage, last, count);
    *terms = last + ".o";
    sums.back() = last + ".i";
  } else {
    sketch_.split(stage, last, count);
    *terms = last + ".i";
    sums.back() = last + ".o";
  }
  sketch_.step(schedule::Unroll{stage, *terms});
  return sums;
}

void Tiles::in_parts() {
  const std::string first = sum_.sums[0].name;
  sketch_.split_in(sum_.name, first, sketch_.cfg.factor(knob("parts")));
  const std::string parts = rfactor(sketch_, sum_.name, first + ".o", 0);
  const schedule::Factor lanes = sketch_.cfg.factor(knob("lanes"));

  std::vector<std::string> order = data_loops(sketch_.s, parts);
  const std::string share = order[0], j = order[static_cast<size_t>(j_) + 1];
  order.erase(order.begin() + j_ + 1);
  sketch_.split(parts, j, lanes);
  std::string terms;
  for (const std::string& sum : split_sums(parts, &terms)) order.push_back(sum);
  for (const std::string& loop : {j + ".o", terms, j + ".i"}) order.push_back(loop);
  sketch_.reorder(parts, order);
  sketch_.step(schedule::Vectorize{parts, j + ".i"});
  sketch_.parallel(parts, share);

  sketch_.split(root_.name, name(j_), lanes);
  std::vector<std::string> tiles;
  for (int d = 0; d < static_cast<int>(root_.data.size()); ++d)
    if (d != j_) tiles.push_back(name(d));
  tiles.push_back(name(j_) + ".o");
  order = tiles;
  if (!fused_) order.push_back(sum_loops(sketch_.s, sum_.name).back());
  order.push_back(name(j_) + ".i");
  sketch_.reorder(root_.name, order);
  sketch_.step(schedule::Vectorize{root_.name, name(j_) + ".i"});
  if (!fused_) return;
  order = sum_loops(sketch_.s, sum_.name);
  for (int d = 0; d < static_cast<int>(sum_.data.size()); ++d)
    if (d != j_) order.push_back(sum_.data[static_cast<size_t>(d)].name);
  order.push_back(sum_.data[static_cast<size_t>(j_)].name);
  sketch_.step(schedule::ComputeAt{sum_.name, root_.name, tiles.back()});
  sketch_.reorder(sum_.name, order);
  sketch_.step(schedule::Vectorize{sum_.name, order.back()});
}

}  // namespace

std::optional<Group> match_reduction(const Graph& graph, int root) {
  const int sum = sum_of_root(graph, root);
  if (sum == -1 || match_short_runs(graph, sum) || lane_axis(graph.at(sum)) == kNoAxis ||
      extents(graph.at(sum).sums) < 1)
    return std::nullopt;
  return group_of_sum(root, sum);
}

void apply_reduction(Sketch& sketch, const Group& group) {
  if (roles_of_one_row(sketch.graph, group.anchor, sketch.target)) return apply_contraction(sketch, group);
  Tiles(sketch, group).run();
}

}  // namespace tw::autotune::sketch
