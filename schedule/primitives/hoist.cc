//   for i in 0..n:                              for i in 0..n:                    // the new stage C.operand0
//     for j in 0..m:                              for k in 0..l:
//       for k in 0..l:                              C.operand0[i, k] = exp(A[i, k])
//         C[i, j] += exp(A[i, k]) * B[k, j]  ==>  for i in 0..n:
//                                                   for j in 0..m:
//                                                     for k in 0..l:
//                                                       C[i, j] += C.operand0[i, k] * B[k, j]
//
// A part of the definition that stays the same along some axes of the stage moves to a new stage, which has the other
// axes, in the order in which the part names them; reduction axes count from 0 there. The loops of the stage stay as
// they are.

#include <algorithm>

#include "schedule/operands.h"
#include "schedule/placement.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/walk.h"

namespace tw::schedule::primitives {

namespace {

// The new stage, and what its reader reads of it.
struct Hoisted {
  StageNest stage;
  ir::Expr read;
};

// The axes of the stage on which the operand depends, in the order in which it names them.
std::vector<Axis> axes_of(const StageNest& stage, const ir::Expr& operand) {
  std::vector<Axis> axes;
  ir::walk(operand, [&](const ir::Expr& e) {
    const auto* used = ir::as<ir::VarRef>(e);
    for (int root = 0; used && root < stage.data_rank + stage.reduce_rank; ++root)
      if (const Axis& axis = stage.axes[static_cast<size_t>(root)]; axis.var == used->var)
        if (std::none_of(axes.begin(), axes.end(), [&](const Axis& known) { return known.var == axis.var; }))
          axes.push_back(axis);
    return true;
  });
  return axes;
}

Hoisted hoisted(const StageNest& from, const ir::Expr& operand, const std::string& name, const ir::Bounds& scalars) {
  te::Compute compute;
  te::Output output{operand.type(), {}, ir::Buffer::fresh_id(), name};
  ir::Substitution renamed;
  std::vector<ir::Expr> at;
  for (const Axis& axis : axes_of(from, operand)) {
    const ir::Var var(axis.var.name());
    renamed[axis.var.id()] = axis.min.expr() + ir::Expr(var);
    at.push_back(ir::Expr(axis.var) - axis.min.expr());
    compute.axis.push_back({var, 0, axis.extent.expr(), false});
    output.shape.push_back(axis.extent.expr());
  }
  compute.bodies = {ir::substitute(operand, renamed)};
  te::OpNode node{ir::Buffer::fresh_id(), name, {output}, std::move(compute), from.op->inputs, from.op->where};
  StageNest made = make_stage(name, te::Operation(std::make_shared<const te::OpNode>(std::move(node))), scalars);
  const ir::Expr read = ir::load(made.buffers[0], at);
  return {std::move(made), read};
}

Status check_stage(const LoopNest& nest, int i) {
  const StageNest& stage = nest.stage(i);
  const auto wrong = [&](const std::string& rule, const std::string& why) {
    return refuse(Hoist::kName, rule) << describe(stage) << why;
  };
  if (!stage.op->compute())
    return wrong("stage must be a compute, not a scan or an extern stage as " + stage.name + " is",
                 "what such a stage computes cannot move to another one");
  if (stage.attach.kind == AttachKind::kInline)
    return wrong("stage must be stored, not inlined as " + stage.name + " is", "compute_root undoes compute_inline");
  if (scan_around(nest, i) != kNone)
    return wrong("stage must not depend on the state of a scan, as " + stage.name + " does",
                 "time is the first axis there");
  if (const ir::Reduce* sum = stage.reduction(); sum && !!sum->where)
    return wrong("stage must not be a reduction with where=, as " + stage.name + " is",
                 "its operands may have no value where the condition is false");
  if (stage.tensorized.axis != kNone)
    return wrong("stage must not be tensorized yet, as " + stage.name + " is", "hoist before tensorize");
  if (stage.layout)
    return wrong("stage must not be laid out by transform_layout yet, as " + stage.name + " is",
                 "hoist before transform_layout");
  if (!stage.pipelines.empty())
    return wrong("stage must not be pipelined yet, as " + stage.name + " is", "hoist before pipeline: reads move");
  if (!stage.prefetches.empty())
    return wrong("stage must not prefetch yet, as " + stage.name + " does", "hoist before prefetch: reads move");
  for (int root = 0; root < stage.data_rank + stage.reduce_rank; ++root)
    for (const Axis& other : stage.axes)
      if (const Axis& axis = stage.axes[static_cast<size_t>(root)];
          other.var && (ir::uses_var(axis.extent.expr(), other.var) || ir::uses_var(axis.min.expr(), other.var)))
        return wrong("the axes of a stage must not depend on each other, as " + axis.name + " does on " + other.name,
                     "the new stage has some of them only");
  return Unit{};
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Hoist& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  if (step.scope == Scope::kArgument)
    return refuse(step.kName, "scope must be local, warp, shared or global, not argument");
  TW_TRY([[maybe_unused]] Unit fits, check_stage(nest, stage));
  const StageNest& before = nest.stage(stage);
  const std::vector<ir::Expr> operands = operands_of(before);
  if (step.operand < 0 || step.operand >= static_cast<int64_t>(operands.size())) {
    std::vector<std::string> texts;
    for (const ir::Expr& operand : operands)
      texts.push_back(std::to_string(texts.size()) + ": " + ir::to_string(operand));
    return refuse(step.kName, "operand must be the number of a part of " + step.stage +
                                  " that stays the same along one of its axes, not " + std::to_string(step.operand))
           << (texts.empty() ? "every part of it depends on all axes, or is computed under a condition only"
                             : "they are " + join(texts));
  }
  const ir::Expr& operand = operands[static_cast<size_t>(step.operand)];
  const std::string name = nest.unique_name(step.stage + ".operand" + std::to_string(step.operand));
  Hoisted made = hoisted(before, operand, name, nest.scalars());
  made.stage.scope = step.scope;
  LoopNest next = nest;
  for (ir::Expr& body : next.edit(stage).bodies)
    body = ir::rewrite(body, [&](const ir::Expr& e) { return ir::equal(e, operand) ? made.read : e; });
  next.insert(stage, std::move(made.stage));
  return next;
}

}  // namespace tw::schedule::primitives
