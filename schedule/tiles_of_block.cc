#include "schedule/tiles_of_block.h"

#include "src/ir/simplify.h"

namespace tw::schedule {

ir::Expr tiles_of_block(const StageNest& stage, const StageBounds& bounds) {
  const PersistentNote& note = stage.persistent;
  const auto& split = std::get<SplitRelation>(*stage.relation_from(note.whole));
  const Extent &all = bounds.extent[note.whole], &blocks = bounds.extent[split.inner];
  if (bounds.extent[note.tiles] * blocks == all) return bounds.extent[note.tiles].expr();
  const ir::Var& block = bounds.loop[split.inner];
  const ir::Expr past = all.expr() + blocks.expr() - ir::Expr(1);
  return ir::simplify(ir::floordiv(block ? past - ir::Expr(block) : past, blocks.expr()));
}

}  // namespace tw::schedule
