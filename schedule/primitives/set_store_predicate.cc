//   for i in 0..n:                  for i in 0..n:
//     P[i] = ...            ==>       if i < 10:                       // set_store_predicate(i < 10)
//                                       P[i] = ...
//
// Elements that nobody reads need not be computed. That nobody reads them is proved from the whole nest: an output is
// read everywhere, what is read under a condition of indices where that holds.

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/parse.h"

namespace tw::schedule::primitives {

namespace {

// Whether the condition says of a loop whose sums threads join that the first of them stores the result: it does.
bool is_first_of_sum(const StageNest& stage, AxisId leaf, const std::string& condition) {
  const Axis& axis = stage.axes[leaf];
  if (!axis.reduction || !is_thread(axis.annotation) || !axis.var) return false;
  const auto said = ir::parse_expr(condition, {axis.name}, {axis.var});
  return said.ok() && ir::equal(*said, ir::eq(axis.var, ir::Expr(0)));
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const SetStorePredicate& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  std::vector<ir::Var> vars;
  std::vector<std::string> names;
  for (int d = 0; d < before.data_rank; ++d) {
    vars.push_back(before.axes[d].var);
    names.push_back(before.axes[d].name);
  }
  for (AxisId leaf : before.leaves)
    if (is_first_of_sum(before, leaf, step.condition)) return nest;
  auto condition = ir::parse_expr(step.condition, names, vars);
  if (!condition.ok())
    return refuse(step.kName,
                  "condition must be an expression over the data axes of " + step.stage + ", not " + step.condition)
           << condition.error().what << describe(before);
  if (condition->type() != ir::Type::boolean())
    return refuse(step.kName,
                  "condition must be true or false, not a value of type " + ir::to_string(condition->type()));
  LoopNest next = nest;
  StageNest& changed = next.edit(stage);
  changed.store_predicate = *condition;
  changed.predicated_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
