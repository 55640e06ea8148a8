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
// read again from the nearest cache. Where each row ends in one element, as a variance or a cross entropy, the last
// stage has no columns: it adds up with all threads, or the first one computes it. What stands between the sums is
// computed again, or kept in shared memory where several of them read it; or, of rows that lanes share evenly, in the
// registers of warps (row_warps.cc).
#include "autotune/sketch/device_rows.h"

#include <algorithm>
#include <map>

#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

size_t row_axes(const Graph& graph, const Group& group) {
  const Stage& root = graph.at(group.root);
  const bool narrow = root.reduces() || std::ranges::any_of(group.members, [&](int member) {
                        return graph.at(member).reduces() && graph.at(member).data.size() == root.data.size();
                      });
  return root.data.size() - (narrow ? 0 : 1);
}

int64_t row_length(const Graph& graph, const Group& group, size_t rows) {
  const Stage& root = graph.at(group.root);
  if (root.data.size() > rows) return root.data.back().extent;
  int64_t longest = 0;
  for (int member : group.members)
    for (const Axis& sum : graph.at(member).sums) longest = std::max(longest, sum.extent);
  return longest;
}

namespace {

constexpr int64_t kMostKept = 128 << 10;  // bytes of a row, so that a block has its own

}  // namespace

bool can_be_kept(const Stage& stage, size_t rows) {
  return stage.data.size() == rows + 1 && stage.readers.size() > 1 && !stage.type.is_packed() &&
         stage.data.back().extent * stage.type.bytes() <= kMostKept;
}

namespace {

constexpr int64_t kLeastOfARow = 512;  // terms, of rows that end in one element

// Whether the stage has the axes of the root's rows, or those and one more.
bool fits(const Stage& stage, const Stage& root, size_t rows) {
  if (stage.data.size() < rows || stage.data.size() > rows + 1) return false;
  for (size_t d = 0; d < std::min(stage.data.size(), root.data.size()); ++d)
    if (stage.data[d].extent != root.data[d].extent) return false;
  return !stage.reduces() || (stage.data.size() == rows && stage.bodies.size() == 1 && stage.sums.size() == 1 &&
                              stage.sums[0].extent >= kLeastShared);
}

// Whether it reads of each row of the group what is computed of its own: not of another one, as A[i, j] / S[j] does
// where S has as many elements as there are rows.
bool reads_own_rows(const Group& group, const Stage& stage, size_t rows) {
  return std::ranges::all_of(stage.reads, [&](const Access& read) {
    if (!group.has(read.stage)) return true;
    for (size_t d = 0; d < rows; ++d)
      if (!is_axis(read.at()[d], stage.data[d])) return false;
    return true;
  });
}

// One sum alone is for the rule of sums, which gives short rows a part of a block.
bool is_worth_a_block(const Graph& graph, const Group& group, size_t rows) {
  if (graph.at(group.root).data.size() > rows) return true;
  const auto sums = std::ranges::count_if(group.members, [&](int member) { return graph.at(member).reduces(); });
  return sums > 1 && rows > 0 && row_length(graph, group, rows) >= kLeastOfARow;
}

// What a thread reads of a row at once.
int64_t lanes_of_row(const Graph& graph, const Group& group, size_t rows) {
  const Stage& root = graph.at(group.root);
  const bool wide = root.data.size() > rows;
  int64_t lanes = wide ? vectors_along(graph, root, root.data.back()).lanes : 1;
  if (wide && lanes < 2) return lanes;
  for (int member : group.members)
    if (const Stage& stage = graph.at(member);
        stage.reduces() && (!wide || stage.sums[0].extent == root.data.back().extent))
      lanes = std::max(lanes, vectors_along(graph, stage, stage.sums[0]).lanes);
  return lanes;
}

// Of 16-bit floats a device finds two at a time, of which a loop has to be seen.
bool finds_largest(const Graph& graph, const Stage& stage) {
  const auto* reduce = ir::as<ir::Reduce>(stage.bodies[0]);
  return reduce && reduce->op == ir::ReduceOp::kMax &&
         std::ranges::any_of(stage.direct, [&](int source) { return graph.at(source).type.is_half(); });
}

// Whether several of the group's stages read the same rows of one that is not theirs.
bool is_shared_row(const Graph& graph, const Group& group, int source, size_t rows) {
  const Stage& from = graph.at(source);
  if (group.has(source) || from.type.is_packed() || from.shape.size() != rows + 1 ||
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

// Where rows wait that several stages read.
constexpr int64_t kReadAgain = 0, kShared = 1, kRegisters = 2;

// The best number of threads for those first, where they have the registers for a row.
std::vector<int64_t> threads_for(const Graph& graph, int64_t length, const std::optional<RowWarps>& warps) {
  std::vector<int64_t> threads = up_to(length, {256, 128, 512, 64, 1024, 32});
  if (warps)
    std::ranges::stable_sort(threads, {}, [&](int64_t n) {
      return std::pair(!fits_warps(graph, *warps, n, warps->kept), std::abs(length / n - warps->of_a_lane));
    });
  return threads;
}

// The same for all rows that are read: each of its own would be asked of rows in registers too, where it says nothing.
void define_places(Sketch& sketch, const std::string& root, const std::vector<int64_t>& threads,
                   const std::optional<RowWarps>& warps, bool shared) {
  const auto fit = [&](int64_t kept) {
    return warps && std::ranges::any_of(threads, [&](int64_t n) { return fits_warps(sketch.graph, *warps, n, kept); });
  };
  std::vector<int64_t> places;
  if (shared) places.push_back(kShared);
  places.push_back(kReadAgain);
  if (fit(warps ? warps->kept : 0))
    places.insert(places.begin(), kRegisters);
  else if (fit(0))
    places.push_back(kRegisters);  // the first number of threads may be too small for it
  sketch.cfg.define_knob(root + ".rows", places);
}

// Whether they are kept is asked of all of them, whatever is made of it.
void define_kept(Sketch& sketch, const Group& group, size_t rows) {
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member)
    if (const Stage& stage = sketch.graph.at(*member);
        *member != group.root && !stage.reduces() && can_be_kept(stage, rows))
      sketch.cfg.define_knob(stage.name + ".kept", {1, 0});
}

// The stage's rows in shared memory, each thread so many neighbours at once.
void keep(Sketch& sketch, const std::string& stage, const std::string& root, const std::string& row,
          const schedule::Factor& threads, int64_t lanes) {
  sketch.step(schedule::ComputeAt{stage, root, row});
  sketch.step(schedule::SetScope{stage, ir::Scope::kShared});
  std::string column = data_loops(sketch.s, stage).back();
  if (lanes > 1) {
    sketch.split(stage, column, lanes);
    sketch.step(schedule::Vectorize{stage, column + ".i"});
    column += ".o";
  }
  share(sketch, stage, column, threads);
}

}  // namespace

std::optional<Group> match_device_rows(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  if (last.data.empty()) return std::nullopt;
  std::optional<Group> group = match_rows(graph, root);
  if (!group || shares_bytes(graph, group->members)) return std::nullopt;
  const size_t rows = row_axes(graph, *group);
  for (int member : group->members)
    if (const Stage& stage = graph.at(member);
        stage.kind == StageKind::kContraction || !fits(stage, last, rows) || !reads_own_rows(*group, stage, rows))
      return std::nullopt;
  const bool narrow = last.data.size() == rows;
  const int64_t length = row_length(graph, *group, rows);
  if ((!narrow && rows == 0) || !is_worth_a_block(graph, *group, rows) ||
      has_few_rows(narrow ? last.elements : last.elements / std::max<int64_t>(1, length), length))
    return std::nullopt;
  return group;
}

void apply_device_rows(Sketch& sketch, const Group& group) {
  const Stage& root = sketch.graph.at(group.root);
  const size_t row_count = row_axes(sketch.graph, group);
  const bool narrow = root.data.size() == row_count;
  std::vector<std::string> rows = data_loops(sketch.s, root.name);
  const std::string column = rows.back();
  if (!narrow) rows.pop_back();
  const std::optional<RowWarps> warps = match_row_warps(sketch.graph, group);
  const std::vector<int64_t> threads_of_row =
      threads_for(sketch.graph, row_length(sketch.graph, group, row_count), warps);
  sketch.cfg.define_knob(root.name + ".threads", threads_of_row);
  define_kept(sketch, group, row_count);
  std::vector<int> shared;
  for (int source = 0; source < static_cast<int>(sketch.graph.stages.size()); ++source)
    if (is_shared_row(sketch.graph, group, source, row_count)) shared.push_back(source);
  define_places(sketch, root.name, threads_of_row, warps, !shared.empty());
  const int64_t place = sketch.cfg.value(root.name + ".rows");
  if (place == kRegisters) return apply_row_warps(sketch, group, *warps);
  const schedule::Factor threads = sketch.cfg.factor(root.name + ".threads");
  const int64_t lanes = lanes_of_row(sketch.graph, group, row_count);
  const bool wide = lanes > 1;
  const std::string row = sketch.fuse(root.name, rows);
  sketch.bind(root.name, row, "blockIdx.x");
  if (!narrow && wide) {
    sketch.split(root.name, column, lanes);
    sketch.step(schedule::Vectorize{root.name, column + ".i"});
  }
  if (!narrow) share(sketch, root.name, wide ? column + ".o" : column, threads);
  std::map<std::string, std::string> kept;  // copies in shared memory
  if (place != kShared) shared.clear();
  for (int source : shared) {
    const std::string& name = sketch.graph.at(source).name;
    std::vector<std::string> readers;
    for (int member : group.members)
      if (std::ranges::count(sketch.graph.at(member).direct, source)) readers.push_back(sketch.graph.at(member).name);
    kept[name] = sketch.cache_read(name, readers, ir::Scope::kShared);
  }
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member) {
    const Stage& stage = sketch.graph.at(*member);
    if (*member == group.root && !stage.reduces()) continue;
    if (!stage.reduces()) {
      const bool may = can_be_kept(stage, row_count);
      if (may && sketch.cfg.value(stage.name + ".kept") == 1)
        keep(sketch, stage.name, root.name, row, threads, lanes);
      else
        sketch.step(schedule::ComputeInline{stage.name});
      continue;
    }
    if (*member != group.root) sketch.step(schedule::ComputeAt{stage.name, root.name, row});
    Vectors vectors = vectors_along(sketch.graph, stage, stage.sums[0]);
    for (std::string& source : vectors.sources)
      if (kept.contains(source)) source = kept[source];
    if (wide && vectors.lanes > 1 && lanes % vectors.lanes == 0 && !vectors.sources.empty())
      share_vectors(sketch, stage.name, stage.sums[0].name, threads, vectors.sources, lanes,
                    finds_largest(sketch.graph, stage));
    else
      share(sketch, stage.name, stage.sums[0].name, threads);
  }
  for (const auto& [source, copy] : kept) sketch.step(schedule::ComputeAt{copy, root.name, row});
}

}  // namespace tw::autotune::sketch
