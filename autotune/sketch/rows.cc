// Rows: stages that share their outer axes, reductions among them, one row (or a few) at a time.
//
//   max[i] = max over j of A[i, j]              parallel i.o: for i.i:
//   E[i, j] = exp(A[i, j] - max[i])       ==>     max, in vectors; E's row, vectorized
//   total[i] = sum over j of E[i, j]              total, in vectors
//   B[i, j] = E[i, j] / total[i]                  vectorized j: B[i, j]
//
// Softmax, layer normalisation, sums of rows: all passes over a row before the next row, so that all but the first find
// it in a cache. The row axes are those of the root that every reduction keeps; what is the same for several rows is
// computed before them, as exp(x[k]) of sums of exp(x[k]) * W[j, k]. Where rows lie one element after the other in
// memory (softmax over channels), vectors go over rows instead:
//
//   parallel n, h, w.o: for c: vectorized w.i
#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/from_memory.h"
#include "src/ir/register_lanes.h"
#include "src/ir/walk.h"
#include "src/target/abilities.h"

namespace tw::autotune::sketch {

namespace {

constexpr int kNoAxis = -1;
constexpr int64_t kFewTerms = 32;     // of a window, each with loads and shuffles of its own: more are long to compile
constexpr int64_t kFewAlong = 8;      // of its last axis, which make no vectors
constexpr int64_t kMostLanes = 1024;  // of a loop that is vectorized as it is declared, though fewer are computed

// Which axis of the root each data axis of a stage stands for, where all members read the stage there.
using RootAxes = std::map<int, std::vector<int>>;

int axis_of(const std::vector<Axis>& axes, const ir::Expr& subscript) {
  const auto* var = ir::as<ir::VarRef>(subscript);
  for (size_t d = 0; var && d < axes.size(); ++d)
    if (axes[d].var == var->var) return static_cast<int>(d);
  return kNoAxis;
}

RootAxes root_axes(const Graph& graph, const Group& group) {
  RootAxes axes;
  for (size_t d = 0; d < graph.at(group.root).data.size(); ++d) axes[group.root].push_back(static_cast<int>(d));
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member)
    for (const Access& read : graph.at(*member).reads) {
      if (!group.has(read.stage)) continue;
      const bool first = !axes.contains(read.stage);
      std::vector<int>& known = axes[read.stage];
      if (first) known.resize(read.at().size(), kNoAxis);
      for (size_t d = 0; d < read.at().size(); ++d) {
        const int own = axis_of(graph.at(*member).data, read.at()[d]);
        const int root = own == kNoAxis ? kNoAxis : axes[*member][static_cast<size_t>(own)];
        if (first)
          known[d] = root;
        else if (known[d] != root)
          known[d] = kNoAxis;
      }
    }
  return axes;
}

struct Form {
  std::vector<int> rows, inner;  // axes of the root
  int lanes = kNoAxis;           // the row axis that vectors go along; none: along the rows' elements
};

// The axes of the root that every reduction has.
std::vector<int> shared_axes(const Graph& graph, const Group& group, const RootAxes& axes) {
  std::vector<int> rows;
  for (int d = 0; d < static_cast<int>(graph.at(group.root).data.size()); ++d)
    if (std::all_of(group.members.begin(), group.members.end(), [&](int member) {
          const std::vector<int>& own = axes.at(member);
          return !graph.at(member).reduces() || std::find(own.begin(), own.end(), d) != own.end();
        }))
      rows.push_back(d);
  return rows;
}

// The read that touches most elements of those that move along the axis; the main one where none does.
const Access* main_read_along(const Stage& stage, const Axis& axis) {
  const Access* most = nullptr;
  for (const Access& read : stage.reads)
    if (read.uses(axis) && (!most || touched(stage, read) > touched(stage, *most))) most = &read;
  return most ? most : main_read(stage);
}

// Whether vectors along the data axis find their elements side by side, or, of a window, so close that they are sorted
// out of what lies there.
bool close_along(const Stage& stage, const Access& read, const Axis& axis) {
  const int64_t stride = stride_along(read, axis).value_or(0);
  if (axis.extent < 2 || stride < 1 || stride > ir::kFewApart) return false;
  const int64_t along = stage.sums.back().extent;
  return stride == 1 || ((extents(stage.sums) <= kFewTerms || along <= kFewAlong) && axis.extent >= along);
}

// Whether its elements lie side by side along the last reduction axis, and close along no data axis.
bool runs_along_sum(const Stage& stage) {
  const Access* read = main_read_along(stage, stage.sums.back());
  return read && stride_along(*read, stage.sums.back()) == 1 &&
         std::none_of(stage.data.begin(), stage.data.end(),
                      [&](const Axis& axis) { return close_along(stage, *read, axis); });
}

// The row axis along which all reductions' elements lie side by side.
int common_lanes(const Graph& graph, const Group& group, const RootAxes& axes, const std::vector<int>& rows) {
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (std::all_of(group.members.begin(), group.members.end(), [&](int member) {
          const Stage& stage = graph.at(member);
          const Access* read = stage.reduces() ? main_read(stage) : nullptr;
          if (!read) return !stage.reduces();
          const std::vector<int>& own = axes.at(member);
          const auto d = std::find(own.begin(), own.end(), *row) - own.begin();
          return stride_along(*read, stage.data[static_cast<size_t>(d)]) == 1;
        }))
      return *row;
  return kNoAxis;
}

std::optional<Form> form_of(const Graph& graph, const Group& group) {
  const RootAxes axes = root_axes(graph, group);
  const Stage& root = graph.at(group.root);
  Form form{shared_axes(graph, group, axes), {}, kNoAxis};
  int64_t rows = 1;
  for (int d = 0; d < static_cast<int>(root.data.size()); ++d) {
    const bool row = std::find(form.rows.begin(), form.rows.end(), d) != form.rows.end();
    if (row) rows *= root.data[static_cast<size_t>(d)].extent;
    if (!row) form.inner.push_back(d);
  }
  if (rows < 2 || extents(root.data) < 1) return std::nullopt;
  bool along = true, others = false;
  int64_t shortest = INT64_MAX;
  for (int member : group.members) {
    const Stage& stage = graph.at(member);
    if (!stage.reduces()) continue;
    along = along && runs_along_sum(stage);
    shortest = std::min(shortest, extents(stage.sums));
    others = others || member != group.root;
  }
  if (along && shortest >= 4) return form;
  if (others && !form.inner.empty()) form.lanes = common_lanes(graph, group, axes, form.rows);
  if (form.lanes == kNoAxis) return std::nullopt;
  return form;
}

// For each data axis of a member, the axes of the root with which the elements that are read change.
std::map<int, std::vector<std::set<int>>> moved_by(const Graph& graph, const Group& group) {
  std::map<int, std::vector<std::set<int>>> moved;
  for (size_t d = 0; d < graph.at(group.root).data.size(); ++d) moved[group.root].push_back({static_cast<int>(d)});
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member)
    for (const Access& read : graph.at(*member).reads) {
      if (!group.has(read.stage)) continue;
      const std::vector<std::set<int>> own = moved[*member];
      std::vector<std::set<int>>& known = moved[read.stage];
      known.resize(read.at().size());
      for (size_t d = 0; d < known.size(); ++d)
        for (size_t axis = 0; axis < own.size(); ++axis)
          if (ir::uses_var(read.at()[d], graph.at(*member).data[axis].var))
            known[d].insert(own[axis].begin(), own[axis].end());
    }
  return moved;
}

// Members that are computed before the rows, not for each of them: arithmetic of which several rows read the same
// elements. Where members have no rows in common, all axes of the root are, and sums over fewer are no part of them.
std::set<int> shared_by_rows(const Graph& graph, const Group& group) {
  const std::optional<Form> form = form_of(graph, group);
  const std::vector<Axis>& axes = graph.at(group.root).data;
  const auto moved = moved_by(graph, group);
  std::set<int> found;
  for (int member : group.members) {
    const auto stays = [&](int d) {
      return axes[static_cast<size_t>(d)].extent > 1 &&
             std::ranges::none_of(moved.at(member), [&](const std::set<int>& by) { return by.contains(d); });
    };
    const auto all = std::views::iota(0, static_cast<int>(axes.size()));
    if (form ? !graph.at(member).reduces() && std::ranges::any_of(form->rows, stays)
             : graph.at(member).reduces() && std::ranges::any_of(all, stays))
      found.insert(member);
  }
  return found;
}

// The root with all that nothing else reads, but for what is computed before, and what only that reads. Sums of short
// runs are never of one row.
Group grown(const Graph& graph, int root, const std::set<int>& before) {
  Group group{root, root, {root}};
  for (int i = root - 1; i >= 0; --i) {
    const Stage& stage = graph.at(i);
    if (stage.inlined || stage.output || before.contains(i) || match_short_runs(graph, i) ||
        (stage.kind != StageKind::kPointwise && stage.kind != StageKind::kReduction))
      continue;
    const bool inside = std::ranges::all_of(stage.readers, [&](int reader) { return group.has(reader); });
    if (!inside || stage.readers.empty()) continue;
    group.members.insert(group.members.begin(), i);
    if (stage.reduces()) group.anchor = i;
  }
  return group;
}

// Of the largest tensor that sums go over.
int64_t bytes_read(const Graph& graph, const Group& group) {
  double most = 0;
  for (int member : group.members) {
    const Stage& stage = graph.at(member);
    const Access* read = stage.reduces() ? main_read(stage) : nullptr;
    if (read && !group.has(read->stage))
      most = std::max(most, touched(stage, *read) * graph.at(read->stage).type.bytes());
  }
  return static_cast<int64_t>(most);
}

class Rows {
 public:
  Rows(Sketch& sketch, const Group& group)
      : sketch_(sketch),
        group_(group),
        root_(sketch.graph.at(group.root)),
        axes_(root_axes(sketch.graph, group)),
        form_(*form_of(sketch.graph, group)),
        read_(bytes_read(sketch.graph, group)) {
    for (int d : form_.rows) {
      const int64_t extent = root_.data[static_cast<size_t>(d)].extent;
      if (extent > 1 || form_.rows.size() == 1) row_axis_ = rows_ > 1 ? kNoAxis : d;
      rows_ *= extent;
    }
  }

  void run() {
    if (root_.reduces()) sketch_.step(schedule::CacheWrite{root_.name, ir::Scope::kLocal});
    if (form_.lanes == kNoAxis)
      loops_of_rows();
    else
      loops_of_lanes();
    passes_.push_back(root_.name);
    // Readers first, so that what a stage is computed in stands already; a stage that is inlined is one no longer.
    for (auto member = group_.members.rbegin(); member != group_.members.rend(); ++member) place(*member);
    store_past_caches(sketch_, root_);
    if (form_.lanes != kNoAxis || at_.axis.empty()) return;
    claim_lines(sketch_, root_, at_, passes_);
    fetch_rows_ahead(sketch_, root_, at_, passes_, rows_);
  }

 private:
  std::string name(int axis) const { return root_.data[static_cast<size_t>(axis)].name; }
  std::string knob(const std::string& what) const { return root_.name + "." + what; }
  // From memory: while the last pass over a row computes, the first one over the next row is on its way. Several side
  // by side take up to 1.7 times as long, unless they are short; of sums alone up to 2.8 times, as a processor follows
  // one stream of reads in a page. Of several pages, some processors get the lines of each faster than those of one.
  bool one_by_one() const {
    constexpr int64_t kShort = 512, kShortSum = 256, kPage = 4096;
    if (form_.inner.empty()) {
      const bool in_turn = target::follows_lines(sketch_.target) && read_ / rows_ >= kPage;
      return read_ >= kMoreThanShare && read_ / rows_ >= kShortSum && !in_turn;
    }
    const int64_t bytes = root_.type.bytes();
    return root_.elements * bytes >= kMoreThanShare && last_extent() * bytes > kShort;
  }
  int64_t last_extent() const { return root_.data[static_cast<size_t>(form_.inner.back())].extent; }

  std::vector<std::string> rows_of(int member) const;
  void loops_of_rows();
  void loops_of_lanes();
  std::string share(const std::string& rows);
  schedule::Factor lanes(const std::string& stage, const Axis& axis);
  std::string vectors(const std::string& stage, const Axis& axis, std::vector<std::string>& order);
  void place(int member);
  void place_pointwise(int member);
  void place_reduction(int member, const std::string& name);
  void vectorize_lanes(int member, const std::string& name, std::vector<std::string> sums);

  Sketch& sketch_;
  const Group& group_;
  const Stage& root_;
  const RootAxes axes_;
  const Form form_;
  const int64_t read_;  // bytes
  int64_t rows_ = 1;
  int row_axis_ = kNoAxis;  // whose rows these are, where it is one
  Place at_;
  std::vector<std::string> passes_;  // pointwise stages over whole rows
  int64_t together_ = 1;             // rows that loops go over side by side
};

// The member's axis of the root's rows; none where all of these need the same.
std::vector<std::string> Rows::rows_of(int member) const {
  std::vector<std::string> names;
  const std::vector<Axis>& data = sketch_.graph.at(member).data;
  for (size_t d = 0; d < data.size(); ++d)
    if (axes_.at(member)[d] == row_axis_) names.push_back(data[d].name);
  return names;
}

// Threads take shares of the rows; gives the loop over a share's rows.
std::string Rows::share(const std::string& rows) {
  if (root_.operations * 2 < kParallelWork) return rows;
  sketch_.cfg.define_knob(knob("tasks"), up_to(rows_, {16, 64, 4, 2}));
  sketch_.split_in(root_.name, rows, sketch_.cfg.factor(knob("tasks")));
  sketch_.parallel(root_.name, rows + ".o");
  return rows + ".i";
}

// How long the vectors along the axis are. Rows as long as the root's are split alike.
schedule::Factor Rows::lanes(const std::string& stage, const Axis& axis) {
  const int64_t lanes = lanes_of(root_, sketch_.target);
  const bool alike = stage == root_.name || (!form_.inner.empty() && axis.extent == last_extent());
  const std::string knob = (alike ? root_.name : stage) + ".lanes";
  // All lines of a vector are asked for at once, and few can be on their way.
  const std::vector<int64_t> few{2 * lanes, lanes, 4 * lanes}, all{4 * lanes, lanes, 2 * lanes, 8 * lanes, 16 * lanes};
  sketch_.cfg.define_knob(knob, up_to(axis.extent, one_by_one() ? few : all));
  return sketch_.cfg.factor(knob);
}

// Splits the axis into vectors, whose loop is put into the order, and gives the loop over their lanes.
std::string Rows::vectors(const std::string& stage, const Axis& axis, std::vector<std::string>& order) {
  if (axis.extent <= lanes_of(root_, sketch_.target)) return axis.name;
  sketch_.split(stage, axis.name, lanes(stage, axis));
  order.push_back(axis.name + ".o");
  return axis.name + ".i";
}

void Rows::loops_of_rows() {
  std::vector<std::string> rows, order;
  for (int d : form_.rows) rows.push_back(name(d));
  for (int d : form_.inner) order.push_back(name(d));
  order.insert(order.begin(), rows.begin(), rows.end());
  if (order != data_loops(sketch_.s, root_.name)) sketch_.reorder(root_.name, order);
  std::string row = share(sketch_.fuse(root_.name, rows));
  std::string one;
  if (row_axis_ != kNoAxis) {  // of fused rows, some that lie side by side make no box
    sketch_.cfg.define_knob(knob("rows"), up_to(one_by_one() ? 1 : rows_ / 2, {1, 2, 4}));
    together_ = sketch_.cfg.value(knob("rows"));
  }
  if (together_ > 1 && form_.inner.size() == 1 && last_extent() > lanes_of(root_, sketch_.target)) {
    const Axis& along = root_.data[static_cast<size_t>(form_.inner.back())];
    const schedule::Factor side_by_side = sketch_.cfg.factor(knob("rows"));
    sketch_.step(schedule::Tile{root_.name, row, along.name, side_by_side, lanes(root_.name, along), ir::Tail::kAuto});
    sketch_.step(schedule::Unroll{root_.name, row + ".i"});
    sketch_.step(schedule::Vectorize{root_.name, along.name + ".i"});
    at_ = {root_.name, row + ".o"};
    return;
  }
  if (together_ > 1) {
    sketch_.split(root_.name, row, sketch_.cfg.factor(knob("rows")));
    one = row + ".i";
    row += ".o";
  }
  at_ = {root_.name, row};
  std::string lane;
  order = {row};
  for (size_t d = 0; d + 1 < form_.inner.size(); ++d) order.push_back(name(form_.inner[d]));
  if (!form_.inner.empty()) lane = vectors(root_.name, root_.data[static_cast<size_t>(form_.inner.back())], order);
  if (!one.empty()) order.push_back(one);
  if (!lane.empty()) order.push_back(lane);
  sketch_.reorder(root_.name, order);
  if (!one.empty()) sketch_.step(schedule::Unroll{root_.name, one});
  if (!lane.empty()) sketch_.step(schedule::Vectorize{root_.name, lane});
}

void Rows::loops_of_lanes() {
  std::vector<std::string> outer, order;
  for (int d : form_.rows)
    if (d != form_.lanes) outer.push_back(name(d));
  const Axis& along = root_.data[static_cast<size_t>(form_.lanes)];
  const std::string lane = vectors(root_.name, along, outer);
  order = outer;
  for (int d : form_.inner) order.push_back(name(d));
  order.push_back(lane);
  sketch_.reorder(root_.name, order);
  sketch_.step(schedule::Vectorize{root_.name, lane});
  if (outer.empty()) return;  // one vector is all there is: members stay at root
  const std::string around = sketch_.fuse(root_.name, outer);
  if (root_.operations * 2 >= kParallelWork) sketch_.parallel(root_.name, around);
  at_ = {root_.name, around};
}

void Rows::place(int member) {
  const Stage& stage = sketch_.graph.at(member);
  if (stage.reduces())
    place_reduction(member, member == group_.root ? stage.name + ".local" : stage.name);
  else if (member != group_.root)
    place_pointwise(member);
}

void Rows::place_pointwise(int member) {
  const Stage& stage = sketch_.graph.at(member);
  if (stage.elements > rows_ && stage.bodies.size() == 1) {
    // Each of a tuple's combinations reads its terms several times, and would compute them as often.
    const bool of_tuple = std::ranges::any_of(stage.readers, [&](int reader) {
      return sketch_.graph.at(reader).reduces() && sketch_.graph.at(reader).bodies.size() > 1;
    });
    if (stage.expensive)
      sketch_.cfg.define_knob(stage.name + ".store", of_tuple ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 0});
    if (!stage.expensive || sketch_.cfg.value(stage.name + ".store") == 0)
      return sketch_.step(schedule::ComputeInline{stage.name});
  }
  if (at_.axis.empty()) return;
  sketch_.step(schedule::ComputeAt{stage.name, at_.consumer, at_.axis});
  if (form_.lanes != kNoAxis) return vectorize_lanes(member, stage.name, {});
  if (stage.elements <= rows_) return;
  std::vector<std::string> order;
  const std::string lane = vectors(stage.name, stage.data.back(), order);
  if (together_ > 1) std::ranges::copy(rows_of(member), std::back_inserter(order));
  order.push_back(lane);
  if (together_ > 1) sketch_.reorder(stage.name, order);
  sketch_.step(schedule::Vectorize{stage.name, lane});
  passes_.push_back(stage.name);
}

void Rows::place_reduction(int member, const std::string& name) {
  const Stage& stage = sketch_.graph.at(member);
  if (form_.lanes != kNoAxis) {
    if (!at_.axis.empty()) sketch_.step(schedule::ComputeAt{name, at_.consumer, at_.axis});
    return vectorize_lanes(member, name, sum_loops(sketch_.s, name));
  }
  const int64_t lanes = lanes_of(stage, sketch_.target);
  sketch_.cfg.define_knob(stage.name + ".width", sum_widths(stage.sums.back().extent, lanes));
  const std::vector<std::string> together = together_ > 1 ? rows_of(member) : std::vector<std::string>{};
  sum_in_vectors(sketch_, name, at_, sketch_.cfg.value(stage.name + ".width"), together);
}

// The stage computes what one vector of the root needs: its sums around its data axes, the lanes innermost.
void Rows::vectorize_lanes(int member, const std::string& name, std::vector<std::string> sums) {
  const std::vector<int>& axes = axes_.at(member);
  std::string lane;
  int64_t extent = 0;
  for (size_t d = 0; d < axes.size(); ++d) {
    const Axis& axis = sketch_.graph.at(member).data[d];
    if (axes[d] == form_.lanes)
      lane = axis.name, extent = axis.extent;
    else
      sums.push_back(axis.name);
  }
  if (lane.empty()) return;
  if (extent > kMostLanes) {
    sketch_.split(name, lane, sketch_.cfg.factor(knob("lanes")));
    sums.insert(sums.begin(), lane + ".o");
    lane += ".i";
  }
  sums.push_back(lane);
  sketch_.reorder(name, sums);
  sketch_.step(schedule::Vectorize{name, lane});
}

// One row times a packed matrix of bytes, whose instruction adds groups of terms, and at most an epilogue.
bool is_sum_of_one_row(const Sketch& sketch, const Group& group) {
  const bool alone = group.root == group.anchor ||
                     (group.members.size() == 2 && reads_in_place(sketch.graph, group.root, group.anchor));
  return alone && group.members.size() <= 2 && roles_of_one_row(sketch.graph, group.anchor, sketch.target);
}

}  // namespace

std::optional<Group> match_rows(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.kind != StageKind::kPointwise && last.kind != StageKind::kReduction) return std::nullopt;
  for (std::set<int> before;;) {
    Group group = grown(graph, root, before);
    if (std::ranges::none_of(group.members, [&](int member) { return graph.at(member).reduces(); }))
      return std::nullopt;
    const std::set<int> more = shared_by_rows(graph, group);
    if (more.empty()) return form_of(graph, group) ? std::optional(std::move(group)) : std::nullopt;
    before.insert(more.begin(), more.end());
  }
}

void apply_rows(Sketch& sketch, const Group& group) {
  if (is_sum_of_one_row(sketch, group)) return apply_contraction(sketch, group);
  Rows(sketch, group).run();
}

}  // namespace tw::autotune::sketch
