//   for i in 0..n:                  for i in 0..n:
//     C[i] = f(A[i])      ==>         C.local[i] = f(A[i])
//                                   for i in 0..n:
//                                     C[i] = C.local[i]
//
// The computation, reduction included, moves to a new stage "C.local" (or "C.global"); C becomes its copy. C.op.axis
// stays valid: its data axes are C's loops (and name those of C.local when asked there), its reduction axes are
// C.local's.

#include "schedule/placement.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/walk.h"

namespace tw::schedule::primitives {

namespace {

te::Operation with_definition(const te::Operation& op, std::string name, std::vector<te::Output> outputs,
                              te::Compute compute, std::vector<te::Tensor> inputs) {
  te::OpNode node{ir::Buffer::fresh_id(), std::move(name),   std::move(outputs),
                  std::move(compute),     std::move(inputs), op->where};
  return te::Operation(std::make_shared<const te::OpNode>(std::move(node)));
}

// The computing stage: fresh data axes of the same names, the old reduction axes.
StageNest computing(const StageNest& stage, const std::string& name, const ir::Bounds& scalars) {
  const te::Compute& old = *stage.op->compute();
  te::Compute compute;
  ir::Substitution renamed;
  for (const te::IterVar& axis : old.axis) {
    ir::Var var(axis.var.name());
    renamed[axis.var.id()] = var;
    compute.axis.push_back({var, axis.min, axis.extent, false});
  }
  compute.reduce_axis = old.reduce_axis;
  for (const ir::Expr& body : stage.bodies) compute.bodies.push_back(ir::substitute(body, renamed));
  StageNest made = make_stage(
      name, with_definition(stage.op, name, renewed(stage.op->outputs, name), compute, stage.op->inputs), scalars);
  for (size_t d = 0; d < old.axis.size(); ++d) made.aliases.emplace_back(old.axis[d].var.id(), static_cast<AxisId>(d));
  return made;
}

// What is left of the stage: a copy of `source` into the old buffer.
StageNest copying(const StageNest& stage, const StageNest& source, const ir::Bounds& scalars) {
  te::Compute compute;
  compute.axis = stage.op->compute()->axis;
  std::vector<ir::Expr> at;
  for (const te::IterVar& axis : compute.axis) at.push_back(axis.var);
  for (const ir::Buffer& buffer : source.buffers) compute.bodies.push_back(ir::load(buffer, at));
  StageNest made =
      make_stage(stage.name,
                 with_definition(stage.op, stage.op->name, stage.op->outputs, compute, outputs_of(source.op)), scalars);
  made.buffers = stage.buffers;
  made.output = stage.output;
  made.attach = stage.attach;
  made.scope = stage.scope;
  made.aliases = stage.aliases;
  return made;
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const CacheWrite& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  if (step.scope == Scope::kArgument) return refuse(step.kName, "scope must be local or global, not argument");
  if (before.attach.kind == AttachKind::kInline)
    return refuse(step.kName, "stage must be stored, not inlined as " + step.stage + " is")
           << "compute_root undoes compute_inline";
  if (!before.op->compute())
    return refuse(step.kName, "stage must be a compute, not a scan or an extern stage as " + step.stage + " is")
           << "what such a stage computes cannot move to another one; cache_read makes a copy for its readers";
  bool touched = !before.relations.empty() || !before.pragmas.empty() || before.layout;
  for (size_t i = 0; i < before.leaves.size(); ++i)
    touched |= before.leaves[i] != static_cast<AxisId>(i) || before.axes[i].annotation != Annotation::kNone;
  if (touched)
    return refuse(step.kName, "stage must not have been scheduled yet, as " + step.stage + " has")
           << describe(before)
           << "its loops are shared out between " + step.stage +
                  " and the new stage; call cache_write before split, reorder and the like";
  for (int i = 0; i < nest.size(); ++i)
    if (const Attach& attach = nest.stage(i).attach;
        attach.kind == AttachKind::kAt && attach.stage == step.stage && attach.axis >= before.data_rank)
      return refuse(step.kName, "no stage may be computed inside the reduction of " + step.stage + " yet, as " +
                                    nest.stage(i).name + " is")
             << describe(before, attach.axis) << "that loop moves to the new stage: cache_write before compute_at";

  LoopNest next = nest;
  StageNest computed = computing(before, nest.unique_name(step.stage + "." + to_string(step.scope)), nest.scalars());
  computed.scope = step.scope;
  if (scan_around(nest, stage) != kNone) computed.attach = before.attach;
  next.edit(stage) = copying(before, computed, nest.scalars());
  next.insert(stage, std::move(computed));
  return next;
}

}  // namespace tw::schedule::primitives
