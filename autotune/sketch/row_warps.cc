// Rows in the registers of warps: what several stages read of a row is loaded once, and waits where it is read.
//
//   m[i] = max of A[i, k], s[i] = sum of exp(A[i, k] - m[i]), B[i, j] = exp(A[i, j] - m[i]) / s[i]    ==>
//
//   blockIdx.x i.o: threadIdx.y i.i:                      of longer rows   blockIdx.x i:
//     for j.o: threadIdx.x j.l: vector j.v:
//       A.warp[i, j] = A[i, j]                                               the same, and threadIdx.y w in k and in j
//     for k.o: threadIdx.x k.l: for k.v: m = max(m, A.warp[i, k])
//     for j.o: ...: e.warp[i, j] = exp(A.warp[i, j] - m)
//     for k.o: ...: s += e.warp[i, k]
//     for j.o: ...: B[i, j] = e.warp[i, j] / s
//
// One warp has its sums by exchanges and meets nobody, and a block has several of them; of a longer row each warp has a
// part, and the sums meet in shared memory.
#include <algorithm>
#include <optional>

#include "autotune/sketch/device_rows.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kLanes = ir::kLanesOfWarp, kBytes = 16;  // of a vector
constexpr int64_t kRowsTogether = 4, kLongRows = 2;        // of one warp each in a block
constexpr int64_t kMostOfALane = 32;                       // elements of a row
constexpr int64_t kMostThreads = support::kMostThreadsOfBlock;

bool is_column(const Stage& stage, const ir::Expr& e) {
  const auto* at = ir::as<ir::VarRef>(e);
  if (!at) return false;
  const auto names = [&](const Axis& axis) { return axis.var == at->var; };
  return stage.reduces() ? std::ranges::any_of(stage.sums, names) : names(stage.data.back());
}

// Whether the stage reads of `source`, if at all, the element of its own row and column.
bool reads_in_place(const Graph& graph, const Stage& stage, int source) {
  const Stage& from = graph.at(source);
  return std::ranges::all_of(stage.reads, [&](const Access& read) {
    if (read.stage != source) return true;
    for (size_t d = 0; d + 1 < from.shape.size(); ++d)
      if (const auto* at = ir::as<ir::VarRef>(read.at()[d]); !at || at->var != stage.data[d].var) return false;
    return is_column(stage, read.at().back());
  });
}

bool all_read_in_place(const Graph& graph, const Group& group, int source) {
  return std::ranges::all_of(group.members,
                             [&](int member) { return reads_in_place(graph, graph.at(member), source); });
}

// Whether the source has an element for each of the rows' elements.
bool is_row(const Stage& source, size_t rows, int64_t length) {
  return source.shape.size() == rows + 1 && source.shape.back() == length && !source.type.is_packed();
}

// The stages that read the source themselves, for the group or what is inlined there; empty where one is inlined
// elsewhere too.
std::vector<std::string> readers_of(const Graph& graph, const Group& group, int source) {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(graph.stages.size()); ++i) {
    const Stage& stage = graph.at(i);
    if (!std::ranges::count(stage.direct, source)) continue;
    const auto is_member = [&](int reader) { return group.has(reader); };
    if (stage.inlined && !std::ranges::all_of(stage.readers, is_member)) return {};
    if (stage.inlined || group.has(i)) names.push_back(stage.name);
  }
  return names;
}

// Sources of the group whose rows wait for the readers: those that a sum reads.
std::vector<int> loaded_rows(const Graph& graph, const Group& group, size_t rows, int64_t length) {
  std::vector<int> found;
  for (int source = 0; source < static_cast<int>(graph.stages.size()); ++source) {
    if (group.has(source) || !is_row(graph.at(source), rows, length)) continue;
    const bool summed = std::ranges::any_of(group.members, [&](int member) {
      const Stage& stage = graph.at(member);
      return stage.reduces() && std::ranges::any_of(stage.reads, [&](const Access& r) { return r.stage == source; });
    });
    if (summed && all_read_in_place(graph, group, source) && !readers_of(graph, group, source).empty())
      found.push_back(source);
  }
  return found;
}

// What a lane takes at once.
int64_t lanes_at_once(const Graph& graph, const std::vector<int>& loaded, int64_t length) {
  int64_t lanes = 1;
  for (int source : loaded) lanes = std::max<int64_t>(lanes, kBytes / std::max(1, graph.at(source).type.bytes()));
  while (lanes > 1 && length % (kLanes * lanes) != 0) lanes /= 2;
  return lanes;
}

// Whether a member may wait for its readers, which find it where it is.
bool may_wait(const Graph& graph, const Group& group, int member, const RowWarps& of) {
  const Stage& stage = graph.at(member);
  return member != group.root && !stage.reduces() && can_be_kept(stage, of.rows) && is_row(stage, of.rows, of.length) &&
         all_read_in_place(graph, group, member);
}

// Whether it does, by its knob.
bool waits(const Sketch& sketch, const Group& group, int member, const RowWarps& of) {
  return may_wait(sketch.graph, group, member, of) && sketch.cfg.value(sketch.graph.at(member).name + ".kept") == 1;
}

// The loops of a stage along `axis`: parts of it for warps where they have some each, and lanes, which take neighbours.
void share_row(Sketch& sketch, const std::string& stage, std::string axis, int64_t warps, int64_t lanes, bool vector) {
  if (warps > 1) {
    sketch.split_in(stage, axis, warps);
    sketch.bind(stage, axis + ".o", "threadIdx.y");
    axis += ".i";
  }
  if (lanes > 1) {
    sketch.split(stage, axis, lanes);
    if (vector) sketch.step(schedule::Vectorize{stage, axis + ".i"});
    axis += ".o";
  }
  share(sketch, stage, axis, kLanes);
}

// Kept by lanes, each warp its own part.
void keep(Sketch& sketch, const std::string& stage, const std::string& root, const std::string& row, int64_t lanes) {
  sketch.step(schedule::ComputeAt{stage, root, row});
  share_row(sketch, stage, data_loops(sketch.s, stage).back(), 1, lanes, true);
}

}  // namespace

std::optional<RowWarps> match_row_warps(const Graph& graph, const Group& group) {
  constexpr int64_t kBytesOfALane = 64;  // enough that what is done once for a row is little
  RowWarps of;
  of.rows = row_axes(graph, group);
  of.length = row_length(graph, group, of.rows);
  if (graph.at(group.root).data.size() == of.rows || of.length % kLanes != 0 || of.length > kMostOfALane * kMostThreads)
    return std::nullopt;
  for (int member : group.members)
    for (const Axis& sum : graph.at(member).sums)
      if (sum.extent != of.length) return std::nullopt;
  of.loaded = loaded_rows(graph, group, of.rows, of.length);
  int64_t largest = 0;
  for (int source : of.loaded) {
    of.bytes += graph.at(source).type.bytes();
    largest = std::max<int64_t>(largest, graph.at(source).type.bytes());
  }
  if (largest == 0) return std::nullopt;
  for (int member : group.members)
    if (may_wait(graph, group, member, of)) of.kept = std::max<int64_t>(of.kept, graph.at(member).type.bytes());
  of.of_a_lane = kBytesOfALane / largest;
  return of;
}

bool fits_warps(const Graph& graph, const RowWarps& of, int64_t threads, int64_t kept) {
  constexpr int64_t kOthers = 40, kOfABlock = 65536, kBytesOfOne = 4;  // registers
  if (threads % kLanes != 0 || of.length % (threads * lanes_at_once(graph, of.loaded, of.length)) != 0) return false;
  const int64_t of_lane = of.length / threads;
  const int64_t bytes = std::max(of.bytes, kept);  // what is computed takes the place of what it is computed from
  return of_lane <= kMostOfALane && (of_lane * bytes / kBytesOfOne + kOthers) * threads <= kOfABlock;
}

void apply_row_warps(Sketch& sketch, const Group& group, const RowWarps& of) {
  const Stage& root = sketch.graph.at(group.root);
  const int64_t threads = sketch.cfg.value(root.name + ".threads"), warps = threads / kLanes;
  int64_t kept = 0;
  for (int member : group.members)
    if (waits(sketch, group, member, of)) kept = std::max<int64_t>(kept, sketch.graph.at(member).type.bytes());
  if (!fits_warps(sketch.graph, of, threads, kept))
    throw Error({ErrorKind::kSchedule,
                 "rows of " + std::to_string(of.length) + " elements are not for the registers of " +
                     std::to_string(threads) + " threads",
                 {},
                 {}});
  const int64_t lanes = lanes_at_once(sketch.graph, of.loaded, of.length);
  std::vector<std::string> rows = data_loops(sketch.s, root.name);
  const std::string column = rows.back();
  rows.pop_back();
  std::string row = sketch.fuse(root.name, rows);
  if (warps == 1) {
    const int64_t together = of.length / kLanes < of.of_a_lane ? kRowsTogether : kLongRows;
    sketch.split(root.name, row, together);
    sketch.bind(root.name, row + ".o", "blockIdx.x");
    sketch.bind(root.name, row + ".i", "threadIdx.y");
    row += ".i";
  } else {
    sketch.bind(root.name, row, "blockIdx.x");
  }
  share_row(sketch, root.name, column, warps, lanes, true);
  std::vector<std::string> copies;
  for (int source : of.loaded) {
    const std::string& name = sketch.graph.at(source).name;
    copies.push_back(sketch.cache_read(name, readers_of(sketch.graph, group, source), ir::Scope::kWarp));
  }
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member) {
    const Stage& stage = sketch.graph.at(*member);
    if (*member == group.root) continue;
    if (stage.reduces()) {
      sketch.step(schedule::ComputeAt{stage.name, root.name, row});
      if (warps == 1) sketch.step(schedule::SetScope{stage.name, ir::Scope::kLocal});
      share_row(sketch, stage.name, stage.sums[0].name, warps, lanes, false);
      continue;
    }
    if (waits(sketch, group, *member, of)) {
      sketch.step(schedule::SetScope{stage.name, ir::Scope::kWarp});
      keep(sketch, stage.name, root.name, row, lanes);
    } else {
      sketch.step(schedule::ComputeInline{stage.name});
    }
  }
  for (const std::string& copy : copies) keep(sketch, copy, root.name, row, lanes);
}

}  // namespace tw::autotune::sketch
