// A few rows times a matrix whose terms lie side by side, as those of the rows do: X @ W.T of a layer, for a few
// tokens. Vectors go along the terms, so that W is read as it lies, once, and nothing is turned; the sums of all rows
// and of a few columns stay in registers.
//
//   C[i, j] = sum over k of X[i, k] * W[j, k]
//
//   parallel j.o.o: for j.o.i, i.o:
//     for k.o: unrolled i.i, j.i: vectorized k.i: C.local[i, j] += X[i, k] * W[j, k]
//     unrolled i.i, j.i: C[i, j] = epilogue of C.local[i, j]
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kFewRows = 8;  // of float32; of wider sums fewer, of narrower ones more
constexpr int64_t kManyColumns = 64;
constexpr int64_t kTerms = 256;  // which are worth joining the lanes of each sum

struct Axes {
  int few, many;  // of the sum's data
};

// The data axes that each go from line to line of one of two factors, which run along the terms; all others have one
// element.
std::optional<Axes> axes_of(const Stage& sum) {
  if (sum.sums.size() != 1 || sum.reads.size() != 2) return std::nullopt;
  const Axis& terms = sum.sums.back();
  int of_read[] = {-1, -1};
  for (size_t r = 0; r < 2; ++r) {
    if (stride_along(sum.reads[r], terms) != 1) return std::nullopt;
    for (int d = 0; d < static_cast<int>(sum.data.size()); ++d) {
      if (sum.data[static_cast<size_t>(d)].extent == 1 || !sum.reads[r].uses(sum.data[static_cast<size_t>(d)]))
        continue;
      if (of_read[r] >= 0 || stride_along(sum.reads[r], sum.data[static_cast<size_t>(d)])) return std::nullopt;
      of_read[r] = d;
    }
  }
  if (of_read[0] < 0 || of_read[1] < 0 || of_read[0] == of_read[1]) return std::nullopt;
  const auto extent = [&](int d) { return sum.data[static_cast<size_t>(d)].extent; };
  if (extent(of_read[0]) > extent(of_read[1])) std::swap(of_read[0], of_read[1]);
  return Axes{of_read[0], of_read[1]};
}

bool is_of_few_rows(const Graph& graph, int contraction) {
  const Stage& sum = graph.at(contraction);
  const std::optional<Axes> axes = axes_of(sum);
  const int64_t most = kFewRows * 4 / sum.type.bytes();
  if (!axes || sum.data[static_cast<size_t>(axes->few)].extent > most || !sum.type.is_float() ||
      sum.data[static_cast<size_t>(axes->many)].extent < kManyColumns || sum.scan >= 0)
    return false;
  // Weights that are packed ahead lie as register tiles want them.
  return sum.sums.back().extent >= kTerms &&
         std::ranges::none_of(sum.reads, [&](const Access& read) { return graph.at(read.stage).param; });
}

}  // namespace

std::optional<Group> match_few_rows(const Graph& graph, int root) {
  const int sum = sum_of_root(graph, root);
  if (sum < 0 || graph.at(sum).kind != StageKind::kContraction || !is_of_few_rows(graph, sum)) return std::nullopt;
  // A contraction it is where the target multiplies several terms at a time.
  return match_contraction(graph, root) ? std::optional(group_of_sum(root, sum)) : std::nullopt;
}

void apply_few_rows(Sketch& sketch, const Group& group) {
  const auto type = [&](size_t read) { return sketch.graph.at(sketch.graph.at(group.anchor).reads[read].stage).type; };
  const ir::Type total = sketch.graph.at(group.anchor).type;
  if (multiplies(sketch.target, type(0), type(1), total) || multiplies(sketch.target, type(1), type(0), total))
    return apply_contraction(sketch, *match_contraction(sketch.graph, group.root));
  const Stage &root = sketch.graph.at(group.root), &sum = sketch.graph.at(group.anchor);
  const Axes axes = *axes_of(sum);
  const auto name = [&](const Stage& of, int d) { return of.data[static_cast<size_t>(d)].name; };
  const int64_t rows = sum.data[static_cast<size_t>(axes.few)].extent;
  const int64_t columns = sum.data[static_cast<size_t>(axes.many)].extent;
  const std::string stage = group.root == group.anchor ? sketch.cache_write(sum.name, ir::Scope::kLocal) : sum.name;

  const int64_t registers = sketch.target.abilities.vector_registers * 3 / 4;
  const std::string of = sum.name + ".";
  sketch.cfg.define_knob(of + "rows", up_to(rows, {4, 3, 2, 1}));
  sketch.cfg.define_knob(of + "columns", up_to(registers / std::min<int64_t>(rows, 4), {4, 3, 2, 1}));
  sketch.cfg.define_knob(of + "tasks", up_to(columns / 4, {16, 64, 4, 2}));
  sketch.cfg.define_knob(of + "width", sum_widths(sum.sums.back().extent, lanes_of(sum, sketch.target)));

  const auto [row_tiles, row] = sketch.split(root.name, name(root, axes.few), sketch.cfg.factor(of + "rows"));
  const auto [tiles, column] = sketch.split(root.name, name(root, axes.many), sketch.cfg.factor(of + "columns"));
  const auto [tasks, tile] = sketch.split_in(root.name, tiles, sketch.cfg.factor(of + "tasks"));
  std::vector<std::string> order;
  for (int d = 0; d < static_cast<int>(root.data.size()); ++d)
    if (d != axes.few && d != axes.many) order.push_back(name(root, d));
  order.insert(order.end(), {tasks, tile, row_tiles, row, column});
  sketch.reorder(root.name, order);
  if (sum.operations >= kParallelWork) sketch.parallel(root.name, tasks);
  for (const std::string& loop : {row, column}) sketch.step(schedule::Unroll{root.name, loop});
  sum_in_vectors(sketch, stage, {root.name, row_tiles}, sketch.cfg.value(of + "width"),
                 {name(sum, axes.few), name(sum, axes.many)});
}

}  // namespace tw::autotune::sketch
