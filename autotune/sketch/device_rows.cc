// What is computed from sums of its own row, on a device: softmax, layer norms. A block takes a row from the first sum
// to the last element.
//
//   m[i] = max of A[i, k], s[i] = sum of exp(A[i, k] - m[i]), B[i, j] = exp(A[i, j] - m[i]) / s[i]    ==>
//
//   blockIdx.x i:
//     for k.o: threadIdx.x k.i: m = max(m, A[i, k])
//     for k.o: threadIdx.x k.i: s += exp(A[i, k] - m)
//     for j.o: threadIdx.x j.i: B[i, j] = exp(A[i, j] - m) / s
//
// Of few long rows each sum has a launch of its own, whose blocks share the terms (device_reduction.cc). The row is
// read again from the nearest cache. What stands between the sums is computed again, or kept in shared
// memory where several of them read it.
#include <algorithm>
#include <map>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"

namespace tw::autotune::sketch {

namespace {

// Whether the stage has the root's axes but for the last, or all of them.
bool fits(const Stage& stage, const Stage& root) {
  const size_t rows = root.data.size() - 1;
  if (stage.data.size() < rows || stage.data.size() > rows + 1) return false;
  for (size_t d = 0; d < stage.data.size(); ++d)
    if (stage.data[d].extent != root.data[d].extent) return false;
  return !stage.reduces() || (stage.data.size() == rows && stage.bodies.size() == 1 && stage.sums.size() == 1 &&
                              stage.sums[0].extent >= kLeastShared);
}

constexpr int64_t kMostKept = 48 << 10;  // bytes of a row, so that several blocks have theirs

// Whether a row of the stage may wait for those that read it.
bool can_be_kept(const Stage& stage, const Stage& root) {
  return stage.data.size() == root.data.size() && stage.readers.size() > 1 && !stage.type.is_packed() &&
         stage.data.back().extent * stage.type.bytes() <= kMostKept;
}

// Whether several of the group's stages read the same rows of one that is not theirs.
bool is_shared_row(const Graph& graph, const Group& group, int source) {
  const Stage &from = graph.at(source), &root = graph.at(group.root);
  if (std::ranges::count(group.members, source) || from.type.is_packed() || from.shape.size() != root.data.size() ||
      from.shape.back() * from.type.bytes() > kMostKept)
    return false;
  int readers = 0;
  for (int member : group.members) {
    const Stage& stage = graph.at(member);
    if (std::ranges::count(stage.direct, source)) ++readers;
    for (const Access& read : stage.reads)
      for (size_t d = 0; read.stage == source && d + 1 < read.at().size(); ++d)
        if (const auto* at = ir::as<ir::VarRef>(read.at()[d]); !at || at->var != stage.data[d].var) return false;
  }
  return readers > 1;
}

// The stage's rows in shared memory, each thread so many neighbours at once.
void keep(Sketch& sketch, const std::string& stage, const std::string& root, const std::string& row,
          const schedule::Factor& threads, int64_t lanes) {
  sketch.step(schedule::ComputeAt{stage, root, row});
  sketch.step(schedule::SetScope{stage, ir::Scope::kShared});
  std::string column = data_loops(sketch.s, stage).back();
  if (lanes > 1) {
    sketch.step(schedule::Split{stage, column, lanes, {}, ir::Tail::kAuto});
    sketch.step(schedule::Vectorize{stage, column + ".i"});
    column += ".o";
  }
  share(sketch, stage, column, threads);
}

}  // namespace

std::optional<Group> match_device_rows(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.kind != StageKind::kPointwise || last.data.size() < 2) return std::nullopt;
  if (has_few_rows(last.elements / std::max<int64_t>(1, last.data.back().extent), last.data.back().extent))
    return std::nullopt;
  std::optional<Group> group = match_rows(graph, root);
  if (!group || shares_bytes(graph, group->members)) return std::nullopt;
  for (int member : group->members)
    if (graph.at(member).kind == StageKind::kContraction || !fits(graph.at(member), last)) return std::nullopt;
  return group;
}

void apply_device_rows(Sketch& sketch, const Group& group) {
  const Stage& root = sketch.graph.at(group.root);
  std::vector<std::string> rows = data_loops(sketch.s, root.name);
  const std::string column = rows.back();
  rows.pop_back();
  sketch.cfg.define_knob(root.name + ".threads", up_to(root.data.back().extent, {256, 128, 512, 64, 1024, 32}));
  const schedule::Factor threads = sketch.cfg.factor(root.name + ".threads");
  const int64_t lanes = vectors_along(sketch.graph, root, root.data.back()).lanes;
  const bool wide = lanes > 1;
  const std::string row = sketch.fuse(root.name, rows);
  sketch.bind(root.name, row, "blockIdx.x");
  if (wide) {
    sketch.step(schedule::Split{root.name, column, lanes, {}, ir::Tail::kAuto});
    sketch.step(schedule::Vectorize{root.name, column + ".i"});
  }
  share(sketch, root.name, wide ? column + ".o" : column, threads);
  std::map<std::string, std::string> kept;  // copies in shared memory
  for (int source = 0; source < static_cast<int>(sketch.graph.stages.size()); ++source) {
    const std::string& name = sketch.graph.at(source).name;
    if (!is_shared_row(sketch.graph, group, source)) continue;
    sketch.cfg.define_knob(name + ".kept", {1, 0});
    if (sketch.cfg.value(name + ".kept") != 1) continue;
    std::vector<std::string> readers;
    for (int member : group.members)
      if (std::ranges::count(sketch.graph.at(member).direct, source)) readers.push_back(sketch.graph.at(member).name);
    kept[name] = sketch.s.nest().unique_name(name + ".shared");
    sketch.step(schedule::CacheRead{name, ir::Scope::kShared, readers});
  }
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member) {
    const Stage& stage = sketch.graph.at(*member);
    if (*member == group.root) continue;
    if (!stage.reduces()) {
      const bool may = can_be_kept(stage, root);
      if (may) sketch.cfg.define_knob(stage.name + ".kept", {1, 0});
      if (may && sketch.cfg.value(stage.name + ".kept") == 1)
        keep(sketch, stage.name, root.name, row, threads, lanes);
      else
        sketch.step(schedule::ComputeInline{stage.name});
      continue;
    }
    sketch.step(schedule::ComputeAt{stage.name, root.name, row});
    Vectors vectors = vectors_along(sketch.graph, stage, stage.sums[0]);
    for (std::string& source : vectors.sources)
      if (kept.contains(source)) source = kept[source];
    if (wide && vectors.lanes == lanes && !vectors.sources.empty())
      share_vectors(sketch, stage.name, stage.sums[0].name, threads, vectors.sources, lanes);
    else
      share(sketch, stage.name, stage.sums[0].name, threads);
  }
  for (const auto& [source, copy] : kept) sketch.step(schedule::ComputeAt{copy, root.name, row});
}

}  // namespace tw::autotune::sketch
