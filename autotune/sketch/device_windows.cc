// Sums of windows that slide over rows of elements, each element of a row by itself, on a device: depthwise
// convolutions and pools of channels that lie side by side. A thread has several neighbouring windows.
//
//   S[y, x, c] = sum over ky, kx of A[y + ky, x + kx, c] * W[ky, kx, c]; B[y, x, c] = f(S[y, x, c])    ==>
//
//   blockIdx.x, threadIdx.x y*x.o*c.o:
//     for ky:
//       A.local = the elements of all its windows, each read once, padding included
//       for kx unrolled: for x.i unrolled: vectorized c.i: S.local[x.i, c.i] += A.local * W
//     for x.i unrolled: vectorized c.i: B[y, x, c] = f(S.local)
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr std::string_view kName = "device_windows";  // in the table of rules
constexpr int64_t kMostSpanned = 20;                  // elements of a row and lane that a thread keeps

const Axis& along_of(const Stage& stage) { return stage.data[stage.data.size() - 2]; }

// The sum along which windows slide over the read, which ends in the stage's own last axis; -1: none does.
int sliding_sum(const Stage& stage, const Access& read) {
  const std::vector<ir::Expr>& at = read.at();
  if (at.size() < 2 || !is_axis(at.back(), stage.data.back())) return -1;
  const ir::Expr& slides = at[at.size() - 2];
  if (!ir::uses_var(slides, along_of(stage).var)) return -1;
  for (size_t k = 0; k < stage.sums.size(); ++k)
    if (stage.sums[k].extent > 1 && ir::uses_var(slides, stage.sums[k].var)) return static_cast<int>(k);
  return -1;
}

struct Windows {
  int sum = -1;      // of the anchor: along which they slide
  int source = -1;   // what they are of
  int through = -1;  // what pads it for the anchor alone, or -1
  std::vector<int64_t> together;
};

// Elements of a row that so many windows have together; none where that is not known.
int64_t span_of(const Stage& stage, const Access& read, const Axis& sum, int64_t windows) {
  const ir::Expr& slides = read.at()[read.at().size() - 2];
  ir::Bounds bounds{{along_of(stage).var.id(), {0, windows - 1}}, {sum.var.id(), {0, sum.extent - 1}}};
  const ir::Interval span = ir::interval_of(ir::simplify(slides, bounds), bounds);
  return span.bounded() && span.hi - span.lo < kMostSpanned ? span.hi - span.lo + 1 : 0;
}

// So many that divide the windows of a row, four first, of which a thread has room for the elements.
std::vector<int64_t> values_for(const Stage& stage, const Access& read, const Axis& sum) {
  std::vector<int64_t> values;
  for (const int64_t n : {4, 7, 2, 8, 5, 3, 6})
    if (along_of(stage).extent % n == 0 && span_of(stage, read, sum, n) > 0) values.push_back(n);
  if (values.size() > 2) values.resize(2);
  values.push_back(1);
  return values;
}

std::optional<Windows> windows_of(const Graph& graph, int anchor) {
  const Stage& stage = graph.at(anchor);
  if (!stage.reduces() || stage.data.size() < 2 || stage.bodies.size() != 1 || stage.type.is_packed() ||
      stage.elements == 0)
    return std::nullopt;
  Windows of;
  for (const Access& read : stage.reads) {
    const int sum = sliding_sum(stage, read);
    if (sum < 0) continue;
    if (of.sum >= 0) return std::nullopt;
    of.sum = sum;
    of.source = read.stage;
    of.together = values_for(stage, read, stage.sums[static_cast<size_t>(sum)]);
  }
  const bool once = std::ranges::count(stage.reads, of.source, &Access::stage) == 1;
  if (of.sum < 0 || of.together.size() < 2 || !once || graph.at(of.source).type.is_packed()) return std::nullopt;
  for (const int source : stage.direct) {
    const Stage& padded = graph.at(source);
    if (padded.inlined && padded.pads && padded.sources == std::vector{of.source} &&
        padded.readers == std::vector{anchor} && padded.data.size() == graph.at(of.source).shape.size())
      of.through = source;
  }
  const bool direct = std::ranges::find(stage.direct, of.source) != stage.direct.end();
  return of.through >= 0 || direct ? std::optional(of) : std::nullopt;
}

// The sum that the root is made of alone, or the root itself.
int anchor_of(const Graph& graph, int root) {
  if (graph.at(root).reduces()) return root;
  for (int sum = 0; sum < root; ++sum)
    if (is_a_threads_own(graph, root, sum, kName)) return sum;
  return -1;
}

void split_lanes(Sketch& sketch, const std::string& stage, const std::string& column, const schedule::Factor& lanes) {
  sketch.split(stage, column, lanes);
  sketch.step(schedule::Vectorize{stage, column + ".i"});
}

}  // namespace

std::optional<Group> match_device_windows(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.data.size() < 2 || (!last.reduces() && last.kind != StageKind::kPointwise)) return std::nullopt;
  const int anchor = anchor_of(graph, root);
  if (anchor < 0) return std::nullopt;
  const std::optional<Windows> of = windows_of(graph, anchor);
  if (!of || std::min(widest_of_rows(graph, root), widest_of_rows(graph, anchor)) < 2) return std::nullopt;
  for (const int source : last.direct)  // other sums are another rule's
    if (source != anchor && graph.at(source).reduces() && is_a_threads_own(graph, root, source, kName))
      return std::nullopt;
  Group group{root, anchor, {}};
  if (of->through >= 0) group.members.push_back(of->through);
  group.members.push_back(anchor);
  if (anchor != root) group.members.push_back(root);
  return group;
}

void apply_device_windows(Sketch& sketch, const Group& group) {
  const Stage &root = sketch.graph.at(group.root), &sums = sketch.graph.at(group.anchor);
  const Windows of = *windows_of(sketch.graph, group.anchor);
  const bool at_root = group.anchor == group.root;
  const int64_t widest = std::min(widest_of_rows(sketch.graph, group.root), widest_of_rows(sketch.graph, group.anchor));
  sketch.cfg.define_knob(root.name + ".threads", {256, 128, 512});
  sketch.cfg.define_knob(root.name + ".together", of.together);
  sketch.cfg.define_knob(root.name + ".vector", up_to(widest, {widest, widest / 2}));
  const schedule::Factor lanes = sketch.cfg.factor(root.name + ".vector"),
                         together = sketch.cfg.factor(root.name + ".together");
  const std::string slid = sums.sums[static_cast<size_t>(of.sum)].name;
  std::vector<std::string> terms;
  for (const Axis& sum : sums.sums)
    if (sum.name != slid) terms.push_back(sum.name);

  std::string copy;
  if (of.through >= 0) {
    copy = sketch.graph.at(of.through).name;
    sketch.step(schedule::SetScope{copy, ir::Scope::kLocal});
  } else {
    copy = sketch.cache_read(sketch.graph.at(of.source).name, {sums.name}, ir::Scope::kLocal);
  }
  std::vector<std::string> loops = data_loops(sketch.s, root.name);
  const std::string c = loops.back(), x = loops[loops.size() - 2];
  split_lanes(sketch, root.name, c, lanes);
  sketch.split(root.name, x, together);
  loops.resize(loops.size() - 2);
  loops.insert(loops.end(), {x + ".o", c + ".o"});
  std::vector<std::string> order = loops;
  if (at_root) {
    order.insert(order.end(), terms.begin(), terms.end());
    order.push_back(slid);
  }
  order.insert(order.end(), {x + ".i", c + ".i"});
  sketch.reorder(root.name, order);
  const std::string all = sketch.fuse(root.name, loops);
  share(sketch, root.name, all, sketch.cfg.factor(root.name + ".threads"));
  sketch.bind(root.name, all + ".o", "blockIdx.x");
  sketch.step(schedule::Unroll{root.name, x + ".i"});
  const std::string thread = all + ".i";
  if (!at_root) {
    sketch.step(schedule::ComputeAt{sums.name, root.name, thread});
    std::vector<std::string> data = data_loops(sketch.s, sums.name);
    const std::string column = data.back(), window = data[data.size() - 2];
    split_lanes(sketch, sums.name, column, lanes);
    data.resize(data.size() - 2);
    data.insert(data.end(), terms.begin(), terms.end());
    data.insert(data.end(), {slid, window, column + ".o", column + ".i"});
    sketch.reorder(sums.name, data);
    sketch.step(schedule::Unroll{sums.name, window});
  }
  sketch.step(schedule::Unroll{sums.name, slid});
  if (terms.empty())
    sketch.step(schedule::ComputeAt{copy, root.name, thread});
  else
    sketch.step(schedule::ComputeAt{copy, sums.name, terms.back()});
  const std::vector<std::string> of_copy = data_loops(sketch.s, copy);
  split_lanes(sketch, copy, of_copy.back(), lanes);
  sketch.step(schedule::Unroll{copy, of_copy[of_copy.size() - 2]});
}

}  // namespace tw::autotune::sketch
