// Windows of windows, as images have them: what is read again and again is stored, a few rows of it.
//
//   P[y, x] = f(A[y, x])                           parallel y.o: for y.i:
//   B[y, x] = P[y, x] + P[y+1, x+1] + ..    ==>      P's next row, in vectors; those that B still reads stay
//                                                    vectorized x: B[y.i, x]
//
// or, of rows that are too long for the nearest cache, columns of them: parallel y.o: for x.o: for y.i: ..
//
// The rows are those along the one axis of the root, but its last, along which windows reach. Axes that all stages have
// go around it, others inside of it, so that no row is computed again for each channel. Each task begins with as many
// rows as the windows are high.
#include "autotune/sketch/strips.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "autotune/sketch/from_memory.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int kNoAxis = -1;

// How subscripts go with the root's loops: `step` elements for one iteration over an axis, from so far on to so far.
struct Along {
  int axis = kNoAxis;
  int64_t step = 0, first = 0, last = 0;
};

struct Form {
  int row = kNoAxis;                         // of the root's axes
  std::vector<std::string> outside, inside;  // loops around those over rows, and in them
  int64_t height = 0;                        // rows that windows reach beyond one
};

// Where the members lie in the root; nothing where some read is no window of rows.
class Places {
 public:
  Places(const Graph& graph, const Group& group) : graph_(graph), root_(graph.at(group.root)) {
    for (size_t d = 0; d < root_.data.size(); ++d) along_[group.root].push_back({static_cast<int>(d), 1, 0, 0});
    for (auto member = group.members.rbegin(); member != group.members.rend(); ++member)
      for (const Access& read : graph.at(*member).reads)
        if (group.has(read.stage)) fits_ = fits_ && add(*member, read);
  }

  std::optional<Form> form() {
    if (!fits_ || root_.data.size() < 2) return std::nullopt;
    const int last = static_cast<int>(root_.data.size()) - 1;
    std::map<int, int64_t> windows;  // axes of the root, and how far those of all members reach along them
    for (const auto& [stage, axes] : along_)
      for (const Along& along : axes)
        if (along.axis != last && along.first != along.last)
          windows[along.axis] += (along.last - along.first + along.step - 1) / along.step;
    if (windows.size() > 1) return std::nullopt;
    Form form{windows.empty() ? last - 1 : windows.begin()->first, {}, {}, 0};
    if (!windows.empty()) form.height = windows.begin()->second;
    if (!all_go_along(form.row) || !all_go_along(last)) return std::nullopt;
    for (int d = 0; d < last; ++d)
      if (d != form.row)
        (all_go_along(d) ? form.outside : form.inside).push_back(root_.data[static_cast<size_t>(d)].name);
    return form;
  }

 private:
  bool all_go_along(int axis) const {
    return std::ranges::all_of(along_, [&](const auto& stage) {
      return std::ranges::any_of(stage.second, [&](const Along& a) { return a.axis == axis; });
    });
  }

  // Of a subscript that stays inside of a dimension whatever conditions say: the rows of others are cut off, and do not
  // move with the loop.
  std::optional<Along> along(int reader, const ir::Expr& at, int64_t extent) const {
    const std::vector<Axis>& axes = graph_.at(reader).data;
    Along found;
    int64_t reach = 0;
    ir::Expr rest = at;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!ir::uses_var(at, axes[d].var)) continue;
      const auto step = step_along(at, axes[d].var);
      const Along& own = along_.at(reader)[d];
      if (found.axis != kNoAxis || own.axis == kNoAxis || !step || *step < 1) return std::nullopt;
      found = {own.axis, own.step * *step, 0, 0};
      reach = *step * (axes[d].extent - 1);
      rest = rest - ir::Expr(axes[d].var) * ir::Expr(*step);
    }
    for (const Axis& axis : graph_.at(reader).sums) {
      if (!ir::uses_var(at, axis.var)) continue;
      const auto step = step_along(at, axis.var);
      if (!step || *step < 0) return std::nullopt;
      found.last += *step * (axis.extent - 1);
      rest = ir::substitute(rest, {{axis.var.id(), ir::Expr(0)}});
    }
    const auto offset = ir::as_int(ir::simplify(rest));
    if (!offset) return std::nullopt;
    found.first = *offset;
    found.last += *offset;
    if (found.first < 0 || found.last + reach >= extent) return std::nullopt;
    return found;
  }

  bool add(int reader, const Access& read) {
    const auto [known, fresh] = along_.try_emplace(read.stage);
    if (fresh) known->second.resize(read.at().size());
    for (size_t d = 0; d < read.at().size(); ++d) {
      const std::optional<Along> now = along(reader, read.at()[d], graph_.at(read.stage).shape[d]);
      if (!now) return false;
      Along& before = known->second[d];
      if (fresh) before = *now;
      if (now->axis != before.axis || now->step != before.step) return false;
      before.first = std::min(before.first, now->first);
      before.last = std::max(before.last, now->last);
      if (before.first != before.last && before.axis == kNoAxis) return false;
    }
    return true;
  }

  const Graph& graph_;
  const Stage& root_;
  bool fits_ = true;
  std::map<int, std::vector<Along>> along_;  // of each stage's axes
};

std::optional<Form> form_of(const Graph& graph, const Group& group) { return Places(graph, group).form(); }

class Strips {
 public:
  Strips(Sketch& sketch, const Group& group)
      : k_(sketch), group_(group), root_(sketch.graph.at(group.root)), form_(*form_of(sketch.graph, group)) {
    for (int member : group.members) operations_ += sketch.graph.at(member).operations;
  }

  void run() {
    k_.cfg.define_knob(root_.name + ".vectors", {2, 1, 4});
    const int64_t columns = choose_columns();
    const Axis& row = root_.data[static_cast<size_t>(form_.row)];
    std::string rows = row.name;
    std::vector<std::string> order = form_.outside;
    if (operations_ >= kParallelWork) {
      constexpr int64_t kRowsOfTask = 4;  // for each that is computed twice
      const std::string tasks = root_.name + ".tasks";
      const int64_t most = row.extent / (kRowsOfTask * std::max<int64_t>(form_.height, 1));
      k_.cfg.define_knob(tasks, up_to(most, {16, 4, 2, 64}));
      k_.step(schedule::Split{root_.name, rows, {}, k_.cfg.factor(tasks), ir::Tail::kAuto});
      order.push_back(rows + ".o");
      rows += ".i";
    }
    const std::vector<std::string> shared = order;
    std::string last = root_.data.back().name;
    if (columns > 0) {
      k_.step(schedule::Split{root_.name, last, schedule::Factor(columns), {}, ir::Tail::kAuto});
      order.push_back(last + ".o");
      last += ".i";
    }
    order.push_back(rows);
    order.insert(order.end(), form_.inside.begin(), form_.inside.end());
    vectorize(root_, last, order);
    if (!shared.empty() && operations_ >= kParallelWork) k_.parallel(root_.name, k_.fuse(root_.name, shared));
    for (auto member = group_.members.rbegin(); member != group_.members.rend(); ++member) {
      if (*member == group_.root) continue;
      const Stage& stage = k_.graph.at(*member);
      k_.step(schedule::ComputeAt{stage.name, root_.name, rows});
      std::vector<std::string> own;
      for (size_t d = 0; d + 1 < stage.data.size(); ++d) own.push_back(stage.data[d].name);
      vectorize(stage, stage.data.back().name, own);
      if (form_.height > 0) k_.step(schedule::RollingBuffer{stage.name});
    }
    store_past_caches(k_, root_);
  }

 private:
  // How many elements of a row are computed before the next row; 0: all. Of several tensors from memory short pieces
  // of rows arrive more slowly than whole ones: 1.15 times as long.
  int64_t choose_columns() {
    constexpr int64_t kBytes = 2048, kNear = int64_t{32} << 10;
    const int64_t bytes = std::max(1, root_.type.bytes()), row = root_.data.back().extent, columns = kBytes / bytes;
    const int64_t live = form_.height + 2 * static_cast<int64_t>(group_.members.size());
    if (row < 3 * columns || live * row * bytes <= kNear || planes() > 1) return 0;
    const std::string knob = root_.name + ".columns";
    k_.cfg.define_knob(knob, {columns, 0});
    return k_.cfg.value(knob);
  }

  // Two-dimensional parts of inputs that one row reads.
  int64_t planes() const {
    std::vector<std::pair<int, std::vector<ir::Expr>>> seen;
    for (int member : group_.members)
      for (const Access& read : k_.graph.at(member).reads) {
        if (group_.has(read.stage) || read.at().size() < 2) continue;
        const std::vector<ir::Expr> plane(read.at().begin(), read.at().end() - 2);
        const auto same = [&](const auto& other) {
          return other.first == read.stage && std::ranges::equal(other.second, plane, ir::ExprEqual());
        };
        if (std::ranges::none_of(seen, same)) seen.emplace_back(read.stage, plane);
      }
    return static_cast<int64_t>(seen.size());
  }

  // Vectors along the last axis, or what is left of it, inside of the loops `order`.
  void vectorize(const Stage& stage, const std::string& last, std::vector<std::string> order) {
    const int64_t extent = stage.data.back().extent;
    const int64_t width = lanes_of(stage, k_.target) * k_.cfg.value(root_.name + ".vectors");
    k_.step(schedule::Split{stage.name, last, schedule::Factor(std::min(width, extent)), {}, ir::Tail::kAuto});
    order.push_back(last + ".o");
    for (const Axis& axis : stage.sums) order.push_back(axis.name);
    order.push_back(last + ".i");
    k_.reorder(stage.name, order);
    for (const Axis& axis : stage.sums) k_.step(schedule::Unroll{stage.name, axis.name});
    k_.step(schedule::Vectorize{stage.name, last + ".i"});
  }

  Sketch& k_;
  const Group& group_;
  const Stage& root_;
  const Form form_;
  double operations_ = 0;
};

}  // namespace

bool takes_all_strips(const Graph& graph) {
  std::set<int> taken;
  for (int root = 0; root < static_cast<int>(graph.stages.size()); ++root)
    if (const auto group = match_strips(graph, root)) taken.insert(group->members.begin(), group->members.end());
  const auto all = std::views::iota(0, static_cast<int>(graph.stages.size()));
  return std::ranges::all_of(all, [&](int i) { return !graph.at(i).strip || taken.contains(i); });
}

std::optional<Group> match_strips(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  const bool fits = last.kind == StageKind::kPointwise || last.kind == StageKind::kReduction;
  if (!fits || !last.output || last.inlined) return std::nullopt;
  Group group{root, root, {root}};
  for (int i = root; i-- > 0;) {
    const Stage& stage = graph.at(i);
    if (!stage.strip || stage.readers.empty() || stage.kind == StageKind::kContraction) continue;
    if (!std::ranges::all_of(stage.readers, [&](int reader) { return group.has(reader); })) continue;
    group.members.insert(group.members.begin(), i);
  }
  if (group.members.size() < 2) return std::nullopt;
  const std::optional<Form> form = form_of(graph, group);
  const bool reduces = std::ranges::any_of(group.members, [&](int member) { return graph.at(member).reduces(); });
  if (!form || (reduces && form->height == 0)) return std::nullopt;
  return group;
}

void apply_strips(Sketch& sketch, const Group& group) { Strips(sketch, group).run(); }

}  // namespace tw::autotune::sketch
