// Whether set_store_predicate leaves out only what nobody reads.
#include <algorithm>

#include "schedule/check.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/lower/guard.h"
#include "src/lower/index_math.h"

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

// The largest value of a form, with x - (n - 1) <= x // n * n <= x.
ir::Linear without_quotients(const ir::Linear& form) {
  ir::Linear most = ir::Linear::point(form.constant);
  most.overflow = form.overflow;
  for (const ir::Term& term : form.terms) {
    const auto* quotient = ir::as<ir::Binary>(term.atom);
    const auto by = quotient && quotient->op == ir::BinOp::kFloorDiv ? ir::as_int(quotient->b) : std::nullopt;
    if (by.value_or(0) <= 0 || term.factor % *by != 0) {
      most.add(term.atom, term.factor);
      continue;
    }
    ir::decompose(quotient->a, term.factor / *by, most);
    if (term.factor < 0) most.add_constant(1 - *by, term.factor / *by);
  }
  most.normalise();
  return most;
}

// Whether comparisons hold wherever none of the forms is negative.
bool follows(const ir::Expr& condition, const std::vector<ir::Expr>& forms, const ir::Bounds& ranges) {
  lower::GuardReader reader;
  return std::ranges::all_of(lower::conjuncts(condition), [&](const ir::Expr& c) {
    if (ir::can_prove(c, ranges)) return true;
    const lower::Guard* guard = reader.read(c);
    if (!guard) return false;
    const ir::Linear most = without_quotients(guard->form);  // which must be negative
    return std::ranges::any_of(forms, [&](const ir::Expr& form) {
      ir::Linear rest = most;
      rest.add(ir::decompose(ir::simplify(form, ranges)));
      rest.normalise();
      return !rest.overflow && ir::can_prove(ir::build(rest, 1) < ir::Expr(0), ranges);
    });
  });
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
        if (!follows(ir::substitute(stage.store_predicate, at), read.holds, ranges))
          return unproved(stage, nest.stage(reader).name + " reads " + ir::to_string(read.load), steps);
      }
    }
  }
  return Unit{};
}

}  // namespace tw::schedule
