// Few outputs, each a long sum of products: threads share the terms, and their parts are added at the end.
//
//   C[i, j] = sum over k of ...     ==>     parallel k.o: C.rf[k.o, i, j] = sum over k.i of ...     (register tiles)
//                                           C[i, j] = sum over k.o of C.rf[k.o, i, j]
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kMostOutputs = 64 * 64;  // which are too few tiles for a few threads
constexpr int64_t kLeastTerms = 4096;

}  // namespace

std::optional<Group> match_split_sum(const Graph& graph, int root) {
  const Stage& stage = graph.at(root);
  if (stage.kind != StageKind::kContraction || !gives_parts(stage) || stage.elements > kMostOutputs)
    return std::nullopt;
  const std::optional<Roles> roles = roles_of(graph, root);
  if (!roles || roles->group > 0 || roles->terms < kLeastTerms || !roles->contiguous) return std::nullopt;
  return Group{root, root, {root}};
}

void apply_split_sum(Sketch& sketch, const Group& group) {
  const Stage& stage = sketch.graph.at(group.root);
  const Roles roles = *roles_of(sketch.graph, group.root);
  const Axis &rows = stage.data[static_cast<size_t>(roles.rows)], &lanes = stage.data[static_cast<size_t>(roles.lanes)];
  const int64_t width = lanes_of(stage, sketch.target);
  const auto longest = std::max_element(stage.sums.begin(), stage.sums.end(),
                                        [](const Axis& a, const Axis& b) { return a.extent < b.extent; });
  const std::string tile = stage.name + ".tile", parts = stage.name + ".parts";
  sketch.cfg.define_knob_json(tile, register_tiles(rows.extent, lanes.extent, width,
                                                   registers_of(sketch.graph, stage, roles, sketch.target), false));
  sketch.cfg.define_knob(parts, {8, 2, 4, 16, 32, 64});
  sketch.split_in(stage.name, longest->name, sketch.cfg.factor(parts));
  const std::string partial = rfactor(sketch, stage.name, longest->name + ".o", 0);
  const std::string shared = data_loops(sketch.s, partial).front(), added = sum_loops(sketch.s, stage.name).front();
  const std::vector<std::string> terms = sum_loops(sketch.s, partial);

  sketch.split(partial, rows.name, sketch.cfg.factor(tile, 0));
  sketch.split(partial, lanes.name, sketch.cfg.factor(tile, 1));
  std::vector<std::string> order = {shared};
  for (int d : roles.outer) order.push_back(stage.data[static_cast<size_t>(d)].name);
  if (roles.share >= 0) order.push_back(stage.data[static_cast<size_t>(roles.share)].name);
  order.insert(order.end(), {lanes.name + ".o", rows.name + ".o"});
  order.insert(order.end(), terms.begin(), terms.end());
  order.insert(order.end(), {rows.name + ".i", lanes.name + ".i"});
  sketch.reorder(partial, order);
  sketch.parallel(partial, shared);
  sketch.step(schedule::Unroll{partial, rows.name + ".i"});
  sketch.step(schedule::Vectorize{partial, lanes.name + ".i"});

  sketch.split(stage.name, lanes.name, sketch.cfg.factor(tile, 1));
  order.clear();
  for (size_t d = 0; d < stage.data.size(); ++d)
    if (static_cast<int>(d) != roles.lanes) order.push_back(stage.data[d].name);
  order.insert(order.end(), {lanes.name + ".o", added, lanes.name + ".i"});
  sketch.reorder(stage.name, order);
  sketch.step(schedule::Vectorize{stage.name, lanes.name + ".i"});
}

}  // namespace tw::autotune::sketch
