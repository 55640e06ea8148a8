// Sums of rows on a device: the threads of a block share the terms of a row.
//
//   for i: for k: S[i] += A[i, k]   ==>   blockIdx.x i.o: threadIdx.y i.i: for k.o: threadIdx.x k.i: S[i] += A[i, k]
//
// Neighbouring threads take neighbouring terms, each as many as a vector has; what they have is added up at the end.
// Short rows share a block, and of few long ones blocks share the terms, whose parts are rows for a second launch. A
// reduction to one element is a row too, of any length: it has no other loops that could be bound. Terms along several
// axes, each of which is read once, as those of a channel of images, are one long row. What follows a sum to one
// element is computed by the block that ends it.
#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kLeastOfABlock = 4096;  // terms
constexpr int64_t kFewRows = 128;         // blocks that leave some of a device idle
constexpr int64_t kManyParts = 8;         // of a row, which half of a device takes too long for

// Whether neighbouring terms are neighbours in memory, or parts of one element, such as 4-bit integers in a byte.
bool runs_along_terms(const Stage& stage) {
  const Access* read = main_read(stage);
  if (read == nullptr) return false;
  const Axis& terms = stage.sums.back();
  if (stride_along(*read, terms) == 1) return true;
  const std::vector<ir::Expr>& at = read->at();
  const auto* parts = at.empty() ? nullptr : ir::as<ir::Binary>(at.back());
  const auto* term = parts && parts->op == ir::BinOp::kFloorDiv ? ir::as<ir::VarRef>(parts->a) : nullptr;
  return term && term->var == terms.var && ir::as_int(parts->b).value_or(0) > 0 &&
         std::none_of(at.begin(), at.end() - 1, [&](const ir::Expr& e) { return ir::uses_var(e, terms.var); });
}

}  // namespace

bool is_one_row(const Stage& stage) {
  const Access* read = main_read(stage);
  return stage.sums.size() > 1 && read != nullptr && touched(stage, *read) >= stage.elements * extents(stage.sums);
}

bool has_few_rows(int64_t rows, int64_t terms) {
  return rows <= kFewRows && parts_of(rows, terms, kLeastOfABlock) >= 2;
}

std::optional<Group> match_device_reduction(const Graph& graph, int root) {
  const int sum = graph.at(root).data.empty() ? sum_of_root(graph, root) : root;
  if (sum < 0) return std::nullopt;
  const Stage& stage = graph.at(sum);
  if (!stage.reduces() || stage.sums.empty() || stage.elements == 0) return std::nullopt;
  const int64_t terms = is_one_row(stage) ? extents(stage.sums) : stage.sums.back().extent;
  if (stage.data.empty()) return terms > 0 ? std::optional(group_of_sum(root, sum)) : std::nullopt;
  if (shares_bytes(graph, {root}) || !runs_along_terms(stage) || terms < kLeastShared) return std::nullopt;
  return Group{root, root, {root}};
}

int64_t even_parts(int64_t terms, int64_t parts) {
  for (int64_t n = parts; n > parts / 2; --n)
    if (terms % n == 0) return n;
  return parts;
}

namespace {

struct Row {
  std::string terms, neighbours;  // the latter empty: single terms
};

// The loops over terms as one, but for the neighbours that are read at once, if any.
Row as_one_row(Sketch& sketch, const std::string& stage, const Vectors& vectors) {
  std::vector<std::string> loops = sum_loops(sketch.s, stage);
  const std::string last = loops.back();
  if (vectors.lanes == 1) return {sketch.fuse(stage, loops), ""};
  sketch.split(stage, last, vectors.lanes);
  loops.back() += ".o";
  return {sketch.fuse(stage, loops), last + ".i"};
}

// Of which sum blocks have parts: the longest but for the last, which neighbours lie along.
const Axis& sum_of_parts(const Stage& stage) {
  return *std::ranges::max_element(stage.sums.begin(), stage.sums.end() - 1, {}, &Axis::extent);
}

// Of neighbours that a loop of their own goes through.
void share_neighbours(Sketch& sketch, const std::string& stage, const std::string& terms, const std::string& neighbours,
                      const schedule::Factor& threads, const Vectors& vectors) {
  const std::vector<std::string> copies = keep_in_registers(sketch, stage, vectors.sources);
  share(sketch, stage, terms, threads);
  sketch.step(schedule::Unroll{stage, neighbours});
  for (const std::string& copy : copies) load_vectors(sketch, copy, {stage, terms + ".i"}, vectors.lanes);
}

void sum_rows(Sketch& sketch, const std::string& stage, const std::vector<std::string>& data, const std::string& terms,
              const std::string& knobs, const Vectors& vectors, const std::string& neighbours = {}) {
  if (!data.empty()) {
    const std::string rows = sketch.fuse(stage, data);
    sketch.split(stage, rows, sketch.cfg.factor(knobs + ".rows"));
    sketch.bind(stage, rows + ".o", "blockIdx.x");
    sketch.bind(stage, rows + ".i", "threadIdx.y");
  }
  const schedule::Factor threads = sketch.cfg.factor(knobs + ".threads");
  if (!neighbours.empty()) return share_neighbours(sketch, stage, terms, neighbours, threads, vectors);
  if (vectors.sources.empty() || sketch.cfg.value(knobs + ".vector") == 1) return share(sketch, stage, terms, threads);
  share_vectors(sketch, stage, terms, threads, vectors.sources, sketch.cfg.factor(knobs + ".vector"));
}

// One element, by the block whose threads end its sum.
void end_in(Sketch& sketch, const std::string& root, const std::string& sum) {
  sketch.step(schedule::Fuse{root, {}});
  const schedule::StageNest& nest = sketch.s.nest().stage(sketch.s.nest().find_stage(root));
  const std::string block = nest.axes[static_cast<size_t>(nest.leaves.front())].name;
  sketch.bind(root, block, "blockIdx.x");
  sketch.step(schedule::ComputeAt{sum, root, block});
}

}  // namespace

void apply_device_reduction(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.anchor);
  const std::string& name = stage.name;
  const Axis& terms = stage.sums.back();
  sketch.cfg.define_knob(name + ".threads",
                         up_to(is_one_row(stage) ? extents(stage.sums) : terms.extent, {128, 32, 64, 256, 512, 1024}));
  if (!stage.data.empty()) sketch.cfg.define_knob(name + ".rows", up_to(stage.elements, {1, 2, 4, 8}));
  const Vectors vectors = vectors_along(sketch.graph, stage, terms);
  if (!vectors.sources.empty()) sketch.cfg.define_knob(name + ".vector", {vectors.lanes, 1});
  const bool several = is_one_row(stage);
  const int64_t count = several ? extents(stage.sums) : terms.extent;
  const Axis& parted = several ? sum_of_parts(stage) : terms;
  bool few = has_few_rows(stage.elements, count);
  int64_t parts = few ? parts_of(stage.elements, count, kLeastOfABlock) : 1;
  if (several) parts = even_parts(parted.extent, std::min(parts, parted.extent));
  few = few && parts > 1;
  const int64_t most = several ? parted.extent : count / kLeastShared;
  std::vector<int64_t> values{parts, parts / 2, 2 * parts};
  if (2 * stage.elements > kFewRows || parts < kManyParts) values.push_back(1);
  if (few) sketch.cfg.define_knob(name + ".parts", up_to(most, values));
  const bool wide = !vectors.sources.empty() && sketch.cfg.value(name + ".vector") != 1;
  const auto sum_of = [&](const std::string& from, const std::vector<std::string>& data, const std::string& along) {
    if (!several) return sum_rows(sketch, from, data, along, name, vectors);
    const Row row = as_one_row(sketch, from, wide ? vectors : Vectors());
    sum_rows(sketch, from, data, row.terms, name, wide ? vectors : Vectors(), row.neighbours);
  };
  const auto end = [&] {
    if (group.anchor != group.root) end_in(sketch, sketch.graph.at(group.root).name, name);
  };
  if (!few || sketch.cfg.value(name + ".parts") == 1) {
    sum_of(name, data_loops(sketch.s, name), terms.name);
    return end();
  }
  const Parts shared = share_among_blocks(sketch, name, parted.name, sketch.cfg.factor(name + ".parts"));
  sketch.bind(shared.stage, shared.part, shared.data.empty() ? "blockIdx.x" : "blockIdx.z");
  sum_of(shared.stage, shared.data, shared.terms);
  sum_rows(sketch, name, data_loops(sketch.s, name), sum_loops(sketch.s, name).back(), name, {});
  end();
}

}  // namespace tw::autotune::sketch
