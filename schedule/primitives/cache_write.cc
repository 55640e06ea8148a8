//   for i in 0..n:                  for i in 0..n:
//     C[i] = f(A[i])      ==>         C.local[i] = f(A[i])
//                                   for i in 0..n:
//                                     C[i] = C.local[i]
//
// The computation, reduction included, moves to a new stage "C.local" (or "C.global"); C becomes its copy. C.op.axis
// stays valid: its data axes are C's loops (and name those of C.local when asked there), its reduction axes are
// C.local's.
//
// An intrinsic in the place of C's loops goes with them.
//
// Where C's loops have been split, fused or reordered, they are the axes of the new stage, which keeps its values in
// their order, and C begins anew:
//
//   for j.o in 0..n/f:              for j.o: for i: for j.i:
//     for i in 0..m:                  C.local[j.o, i, j.i] = f(A[i, j.o*f + j.i])
//       for j.i in 0..f:   ==>      for i: for j:
//         C[i, j] = f(A[i, j])        C[i, j] = C.local[j / f, i, j % f]

#include "schedule/placement.h"
#include "schedule/primitives/axis_values.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule::primitives {

namespace {

te::Operation with_definition(const te::Operation& op, std::string name, std::vector<te::Output> outputs,
                              te::Compute compute, std::vector<te::Tensor> inputs) {
  te::OpNode node{ir::Buffer::fresh_id(), std::move(name),   std::move(outputs),
                  std::move(compute),     std::move(inputs), op->where};
  return te::Operation(std::make_shared<const te::OpNode>(std::move(node)));
}

bool loops_changed(const StageNest& stage) {
  bool changed =
      !stage.relations.empty() || stage.leaves.size() != static_cast<size_t>(stage.data_rank + stage.reduce_rank);
  for (size_t i = 0; i < stage.leaves.size(); ++i) changed |= stage.leaves[i] != static_cast<AxisId>(i);
  return changed;
}

// Fresh data axes of the same names, the old reduction axes.
te::Compute as_defined(const StageNest& stage) {
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
  return compute;
}

// An axis for each loop, in the order of the loops. Past the end of an uneven split stands 0, or no term of a sum.
te::Compute as_scheduled(const StageNest& stage) {
  te::Compute compute;
  std::vector<ir::Expr> values(stage.axes.size());
  for (const AxisId leaf : stage.leaves) {
    const bool reduction = stage.axes[leaf].reduction;
    const te::IterVar axis{axis_var(stage.axes[leaf]), 0, stage_extent(stage, leaf), reduction};
    values[leaf] = axis.var;
    (reduction ? compute.reduce_axis : compute.axis).push_back(axis);
  }
  const ir::Expr inside = root_values(stage, Which::kData, values);
  ir::Expr counts = root_values(stage, Which::kReductions, values);
  ir::Substitution renamed;
  for (int root = 0; root < stage.data_rank + stage.reduce_rank; ++root)
    renamed[stage.axes[root].var.id()] = ir::simplify(stage.axes[root].min.expr() + values[root]);
  const ir::Reduce* whole = stage.reduction();
  if (!whole) {
    for (size_t i = 0; i < stage.bodies.size(); ++i) {
      const ir::Expr value = ir::substitute(stage.bodies[i], renamed);
      compute.bodies.push_back(inside ? ir::select(inside, value, ir::zero(stage.op->outputs[i].dtype)) : value);
    }
    return compute;
  }
  ir::Reduce sum{whole->op, {}, {}, {}, {}, 0, whole->combiner};
  const ir::Expr where = whole->where ? ir::substitute(whole->where, renamed) : ir::Expr();
  for (const ir::Expr& condition : {inside, where})
    if (condition) counts = counts ? counts && condition : condition;
  sum.where = counts;
  for (const te::IterVar& axis : compute.reduce_axis) sum.axes.push_back({axis.var, 0, axis.extent});
  for (const ir::Expr& source : whole->sources) sum.sources.push_back(ir::substitute(source, renamed));
  for (size_t i = 0; i < whole->init.size(); ++i) {
    const ir::Expr init = ir::substitute(whole->init[i], renamed);
    sum.init.push_back(inside ? ir::select(inside, init, ir::identity_of(*whole)[i]) : init);
  }
  for (size_t i = 0; i < sum.sources.size(); ++i) {
    sum.value = static_cast<int>(i);
    compute.bodies.push_back(ir::reduce(sum));
  }
  return compute;
}

StageNest computing(const StageNest& stage, const std::string& name, const ir::Bounds& scalars) {
  const bool changed = loops_changed(stage);
  te::Compute compute = changed ? as_scheduled(stage) : as_defined(stage);
  std::vector<te::Output> outputs = renewed(stage.op->outputs, name);
  for (te::Output& output : outputs) {
    output.shape.clear();
    for (const te::IterVar& axis : compute.axis) output.shape.push_back(axis.extent);
  }
  StageNest made =
      make_stage(name, with_definition(stage.op, name, outputs, std::move(compute), stage.op->inputs), scalars);
  AxisId data = 0, reduction = made.data_rank;
  std::vector<AxisId> order;
  for (const AxisId leaf : stage.leaves) {  // the axes of the definition that are loops
    const AxisId now = stage.axes[leaf].reduction ? reduction++ : data++;
    if (leaf < stage.data_rank || (changed && leaf < stage.data_rank + stage.reduce_rank))
      made.aliases.emplace_back(stage.axes[leaf].var.id(), now);
    if (leaf == stage.tensorized.axis) made.tensorized = {now, stage.tensorized.intrin, stage.tensorized.step};
    order.push_back(now);
  }
  if (made.tensorized.axis != kNone) made.leaves = order;  // reductions stand where the tile's loops left them
  return made;
}

// What is left of the stage: a copy of `source` into the old buffer.
StageNest copying(const StageNest& stage, const StageNest& source, const ir::Bounds& scalars) {
  te::Compute compute;
  compute.axis = stage.op->compute()->axis;
  std::vector<ir::Expr> values(stage.axes.size()), at;
  for (size_t d = 0; d < compute.axis.size(); ++d) values[d] = compute.axis[d].var;
  leaf_values(stage, values);
  for (const AxisId leaf : stage.leaves)
    if (!stage.axes[leaf].reduction) at.push_back(ir::simplify(values[leaf]));
  for (const ir::Buffer& buffer : source.buffers) compute.bodies.push_back(ir::load(buffer, at));
  StageNest made =
      make_stage(stage.name,
                 with_definition(stage.op, stage.op->name, stage.op->outputs, compute, outputs_of(source.op)), scalars);
  made.buffers = stage.buffers;
  made.output = stage.output;
  made.attach = stage.attach;
  made.scope = stage.scope;
  made.aliases = stage.aliases;
  made.alignments = stage.alignments;
  made.double_buffered = stage.double_buffered;
  made.rolling = stage.rolling;
  made.store_predicate = stage.store_predicate;
  made.predicated_by = stage.predicated_by;
  made.nontemporal = stage.nontemporal;
  return made;
}

// What the Steps said of loops that go to another stage, or of the memory, would be lost.
Status check_plain(const LoopNest& nest, int i) {
  const StageNest& stage = nest.stage(i);
  const auto must_not = [&](const std::string& what) {
    return refuse(CacheWrite::kName, "stage must not be " + what + " yet, as " + stage.name + " is")
           << describe(stage) << "its loops go to the new stage; cache_write before that";
  };
  for (const AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation != Annotation::kNone)
      return must_not(to_string(stage.axes[leaf].annotation) + " at " + stage.axes[leaf].name);
  if (!stage.pragmas.empty()) return must_not("given pragmas");
  if (!stage.prefetches.empty()) return must_not("prefetched for");
  if (!stage.pipelines.empty()) return must_not("pipelined");
  if (stage.swizzled != 0) return must_not("swizzled");
  if (stage.layout) return must_not("laid out by transform_layout");
  if (loops_changed(stage) && scan_around(nest, i) != kNone)
    return must_not("split, fused or reordered inside of a scan, where time is the first axis,");
  return Unit{};
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const CacheWrite& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  if (step.scope == Scope::kArgument)
    return refuse(step.kName, "scope must be local, warp, shared or global, not argument");
  if (before.attach.kind == AttachKind::kInline)
    return refuse(step.kName, "stage must be stored, not inlined as " + step.stage + " is")
           << "compute_root undoes compute_inline";
  if (!before.op->compute())
    return refuse(step.kName, "stage must be a compute, not a scan or an extern stage as " + step.stage + " is")
           << "what such a stage computes cannot move to another one; cache_read makes a copy for its readers";
  TW_TRY([[maybe_unused]] Unit plain, check_plain(nest, stage));
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
