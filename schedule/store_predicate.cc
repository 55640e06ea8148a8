// Whether set_store_predicate leaves out only what nobody reads.
#include "schedule/check.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// The ranges of a stage's axes, as variables of its definition.
void add_ranges(const StageNest& stage, ir::Bounds& ranges) {
  for (int axis = 0; axis < stage.data_rank + stage.reduce_rank; ++axis) {
    const Axis& root = stage.axes[axis];
    const ir::Interval first = ir::interval_of(root.min.expr(), ranges),
                       last = ir::interval_of((root.min + root.extent).expr() - ir::Expr(1), ranges);
    ranges[root.var.id()] = {first.lo, std::max(first.lo, last.hi)};
  }
}

Diagnostic unproved(const StageNest& stage, const std::string& reader, const std::vector<Step>& steps) {
  return blame(refuse(SetStorePredicate::kName,
                      "condition must hold for every element of " + stage.name + " that is read; " + reader)
                   << describe(stage) << "elements for which it is false would never be written"
                   << "widen the condition " + ir::to_string(stage.store_predicate),
               steps, stage.predicated_by);
}

}  // namespace

Status check_predicates(const LoopNest& nest, const Placement& placed, const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (!stage.store_predicate || !placed.live(i)) continue;
    std::string whole = stage.output ? "it is an output" : "";  // else who reads it without saying what of it
    if (stage.op->scan()) whole = "its updates read the times before";
    for (int reader : placed.readers[i])
      if (nest.stage(reader).op->external()) whole = nest.stage(reader).name + " is an extern stage";
    if (!whole.empty()) {
      ir::Bounds ranges = nest.scalars();
      add_ranges(stage, ranges);
      if (!ir::can_prove(stage.store_predicate, ranges)) return unproved(stage, whole, steps);
    }
    for (int reader : placed.readers[i]) {
      ir::Bounds ranges = nest.scalars();
      add_ranges(nest.stage(reader), ranges);
      for (const Read& read : placed.reads[reader]) {
        if (read.source != i) continue;
        ir::Substitution at;
        for (int d = 0; d < stage.data_rank; ++d) at[stage.axes[d].var.id()] = ir::as<ir::Load>(read.load)->at[d];
        if (!ir::can_prove(ir::substitute(stage.store_predicate, at), ranges))
          return unproved(stage, nest.stage(reader).name + " reads " + ir::to_string(read.load), steps);
      }
    }
  }
  return Unit{};
}

}  // namespace tw::schedule
