//   for i:                          for i:                               // the new stage B.rf
//     B[i] = identity                 for k.i in 0..f: B.rf[k.i, i] = identity
//     for k.o, k.i in 0..f:           for k.o, k.i in 0..f:
//       B[i] += A[i, k]       ==>       if k.o*f + k.i < n: B.rf[k.i, i] += A[i, k]
//                                   for i:
//                                     B[i] = init, or the identity
//                                     for k.i in 0..f: B[i] += B.rf[k.i, i]
//
// One loop of a reduction becomes a data axis of a new stage, whose iterations are independent: they can be lanes,
// threads or both. What is left reduces over it. This computes the same terms in another order, which a reduction
// allows; lanes past the end of an uneven split hold the identity. It is one of the Steps that reassociate
// (docs/semantics.md).

#include <algorithm>

#include "schedule/placement.h"
#include "schedule/primitives/axis_values.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule::primitives {

namespace {

// The leaves of the reduction become axes of the new stage: `factored` a data axis at `position`, the others its
// reduction.
struct Factored {
  te::Compute compute;
  std::vector<std::pair<uint64_t, AxisId>> aliases;  // the old axes that it still has
};

Factored factored(const StageNest& stage, AxisId factored, size_t position) {
  Factored made;
  ir::Substitution renamed;
  for (int d = 0; d < stage.data_rank; ++d) {
    const te::IterVar& old = stage.op->compute()->axis[d];
    const ir::Var var(old.var.name());
    renamed[old.var.id()] = var;
    made.compute.axis.push_back({var, 0, old.extent, false});
  }
  std::vector<ir::Expr> values(stage.axes.size());
  std::vector<std::pair<AxisId, size_t>> rest;
  for (AxisId leaf : stage.leaves) {
    if (!stage.axes[leaf].reduction) continue;
    const ir::Var var = axis_var(stage.axes[leaf]);
    values[leaf] = var;
    const te::IterVar axis{var, 0, stage_extent(stage, leaf), leaf != factored};
    if (leaf == factored) {
      made.compute.axis.insert(made.compute.axis.begin() + static_cast<int64_t>(position), axis);
    } else {
      rest.emplace_back(leaf, made.compute.reduce_axis.size());
      made.compute.reduce_axis.push_back(axis);
    }
  }
  ir::Expr counts = root_values(stage, Which::kReductions, values);
  for (int root = stage.data_rank; root < stage.data_rank + stage.reduce_rank; ++root)
    renamed[stage.axes[root].var.id()] = ir::simplify(stage.axes[root].min.expr() + values[root]);
  const ir::Reduce& whole = *stage.reduction();
  if (whole.where) {
    const ir::Expr where = ir::substitute(whole.where, renamed);
    counts = counts ? counts && where : where;
  }
  ir::Reduce part{whole.op, {}, {}, counts, {}, 0, whole.combiner};
  for (const ir::Expr& source : whole.sources) part.sources.push_back(ir::substitute(source, renamed));
  for (const te::IterVar& axis : made.compute.reduce_axis) part.axes.push_back({axis.var, 0, axis.extent});
  const std::vector<ir::Expr> identity = ir::identity_of(whole);
  for (size_t i = 0; i < part.sources.size(); ++i) {
    part.value = static_cast<int>(i);
    ir::Expr alone = counts ? ir::select(counts, part.sources[i], identity[i]) : part.sources[i];
    made.compute.bodies.push_back(part.axes.empty() ? alone : ir::reduce(part));
  }
  for (int d = 0; d < stage.data_rank; ++d)
    made.aliases.emplace_back(stage.axes[d].var.id(), d < static_cast<int>(position) ? d : d + 1);
  for (const auto& [leaf, at] : rest)
    if (leaf < stage.data_rank + stage.reduce_rank)
      made.aliases.emplace_back(stage.axes[leaf].var.id(), stage.data_rank + 1 + static_cast<AxisId>(at));
  return made;
}

te::Operation operation(const te::OpNode& like, std::string name, std::vector<te::Output> outputs, te::Compute compute,
                        std::vector<te::Tensor> inputs) {
  te::OpNode node{ir::Buffer::fresh_id(), std::move(name),   std::move(outputs),
                  std::move(compute),     std::move(inputs), like.where};
  return te::Operation(std::make_shared<const te::OpNode>(std::move(node)));
}

// What is left of the stage: the reduction of `parts` over their axis at `position`.
StageNest remaining(const StageNest& stage, const StageNest& parts, AxisId factored, size_t position,
                    const ir::Bounds& scalars) {
  const ir::Reduce& whole = *stage.reduction();
  te::Compute compute;
  compute.axis = stage.op->compute()->axis;
  const te::IterVar k{axis_var(stage.axes[factored]), 0, stage_extent(stage, factored), true};
  compute.reduce_axis = {k};
  std::vector<ir::Expr> at;
  for (const te::IterVar& axis : compute.axis) at.push_back(axis.var);
  at.insert(at.begin() + static_cast<int64_t>(position), k.var);
  ir::Reduce sum{whole.op, {}, {{k.var, 0, k.extent}}, {}, whole.init, 0, whole.combiner};
  for (const ir::Buffer& buffer : parts.buffers) sum.sources.push_back(ir::load(buffer, at));
  for (size_t i = 0; i < sum.sources.size(); ++i) {
    sum.value = static_cast<int>(i);
    compute.bodies.push_back(ir::reduce(sum));
  }
  StageNest made = make_stage(
      stage.name, operation(*stage.op, stage.op->name, stage.op->outputs, compute, outputs_of(parts.op)), scalars);
  made.buffers = stage.buffers;
  return made;
}

// The loops over data axes stay as they were; the new reduction loop stands where the factored one stood.
void keep_loops(const StageNest& before, AxisId factored, StageNest& made) {
  std::vector<AxisId> now(before.axes.size(), kNone);
  for (AxisId axis = 0; axis < static_cast<AxisId>(before.axes.size()); ++axis) {
    if (before.axes[axis].reduction) continue;
    now[axis] = axis < before.data_rank ? axis : static_cast<AxisId>(made.axes.size());
    if (axis < before.data_rank)
      made.axes[axis] = before.axes[axis];
    else
      made.axes.push_back(before.axes[axis]);
  }
  now[factored] = before.data_rank;
  for (Relation relation : before.relations) {
    if (auto* split = std::get_if<SplitRelation>(&relation)) {
      if (before.axes[split->parent].reduction) continue;
      split->parent = now[split->parent], split->outer = now[split->outer], split->inner = now[split->inner];
    } else {
      auto& fuse = std::get<FuseRelation>(relation);
      if (before.axes[fuse.fused].reduction) continue;
      fuse.outer = now[fuse.outer], fuse.inner = now[fuse.inner], fuse.fused = now[fuse.fused];
    }
    made.relations.push_back(relation);
  }
  made.leaves.clear();
  for (AxisId leaf : before.leaves)
    if (now[leaf] != kNone) made.leaves.push_back(now[leaf]);
  for (PragmaNote note : before.pragmas)
    if ((note.axis = now[note.axis]) != kNone) made.pragmas.push_back(note);
  for (const auto& [var, axis] : before.aliases)
    if (now[axis] != kNone) made.aliases.emplace_back(var, now[axis]);
  made.output = before.output;
  made.attach = before.attach;
  made.scope = before.scope;
  made.alignments = before.alignments;
  made.layout = before.layout;
  made.double_buffered = before.double_buffered;
  made.rolling = before.rolling;
  made.swizzled = before.swizzled;
  made.swizzle_by = before.swizzle_by;
  made.store_predicate = before.store_predicate;
  made.predicated_by = before.predicated_by;
  made.nontemporal = before.nontemporal;
}

// The reduction's loops are taken apart: nothing may depend on them.
Status check_loops_free(const LoopNest& nest, int stage) {
  const StageNest& before = nest.stage(stage);
  for (AxisId leaf : before.leaves)
    if (before.axes[leaf].reduction && before.axes[leaf].annotation != Annotation::kNone)
      return refuse(Rfactor::kName, "the reduction's loops must be plain; " + before.axes[leaf].name + " is " +
                                        to_string(before.axes[leaf].annotation))
             << describe(before, leaf) << "rfactor before you annotate";
  if (!before.prefetches.empty())
    return refuse(Rfactor::kName, "stage must not prefetch yet, as " + before.name + " does")
           << "rfactor before you prefetch: the reads move to the new stage";
  if (!before.pipelines.empty())
    return refuse(Rfactor::kName, "stage must not be pipelined yet, as " + before.name + " is")
           << "rfactor before you pipeline: the loops are the new stage's";
  for (int i = 0; i < nest.size(); ++i)
    if (const Attach& attach = nest.stage(i).attach; attach.kind == AttachKind::kAt && attach.stage == before.name)
      return refuse(Rfactor::kName, "no stage may be computed inside the loops of " + before.name + " yet, as " +
                                        nest.stage(i).name + " is")
             << "rfactor before compute_at: its reader is the new stage now";
  return Unit{};
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Rfactor& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  if (!before.is_reduction())
    return refuse(step.kName, "stage must be a reduction, not " + step.stage) << describe(before);
  TW_TRY(AxisId axis, leaf(before, step.kName, step.axis));
  if (!before.axes[axis].reduction)
    return refuse(step.kName, "axis must be a loop of the reduction, not the data axis " + step.axis)
           << describe(before) << "split the reduction axis, and factor out one part of it";
  const int64_t rank = before.data_rank,
                position = step.factor_axis < 0 ? step.factor_axis + rank + 1 : step.factor_axis;
  if (position < 0 || position > rank)
    return refuse(step.kName, "factor_axis must be a position among the dimensions of the new stage, -" +
                                  std::to_string(rank + 1) + ".." + std::to_string(rank) + ", not " +
                                  std::to_string(step.factor_axis))
           << describe(before);
  if (position == 0 && scan_around(nest, stage) != kNone)
    return refuse(step.kName, "factor_axis must not be 0 in the body of a scan, where time is the first axis")
           << describe(before) << "factor_axis=-1 makes it the last one";
  TW_TRY([[maybe_unused]] Unit free, check_loops_free(nest, stage));

  const std::string name = nest.unique_name(step.stage + ".rf");
  Factored made = factored(before, axis, static_cast<size_t>(position));
  std::vector<te::Output> outputs = renewed(before.op->outputs, name);
  for (te::Output& output : outputs) output.shape.insert(output.shape.begin() + position, stage_extent(before, axis));
  StageNest parts =
      make_stage(name, operation(*before.op, name, outputs, made.compute, before.op->inputs), nest.scalars());
  parts.aliases = made.aliases;
  if (before.attach.kind == AttachKind::kAt) parts.attach = before.attach;
  StageNest rest = remaining(before, parts, axis, static_cast<size_t>(position), nest.scalars());
  keep_loops(before, axis, rest);

  LoopNest next = nest;
  next.edit(stage) = std::move(rest);
  next.insert(stage, std::move(parts));
  return next;
}

}  // namespace tw::schedule::primitives
