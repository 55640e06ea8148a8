//   for i in 0..n:                  for j in 0..m:
//     for j in 0..m:      ==>         for i in 0..n:
//       body(i, j)                      body(i, j)
//
// The named loops take each other's places in the order given; the others stay. Iterations of a stage are independent,
// or terms of one reduction, whose order a schedule may choose.

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

void permute_leaves(StageNest& stage, const std::vector<AxisId>& order) {
  size_t next = 0;
  for (AxisId& leaf : stage.leaves)
    if (std::find(order.begin(), order.end(), leaf) != order.end()) leaf = order[next++];
}

Result<LoopNest> apply(const LoopNest& nest, const Reorder& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  std::vector<AxisId> order;
  for (const std::string& name : step.axes) {
    TW_TRY(AxisId axis, free_leaf(before, step.kName, name));
    if (std::find(order.begin(), order.end(), axis) != order.end())
      return refuse(step.kName, "axes must be different loops, not " + name + " twice") << describe(before);
    order.push_back(axis);
  }
  LoopNest next = nest;
  permute_leaves(next.edit(stage), order);
  return next;
}

}  // namespace tw::schedule::primitives
