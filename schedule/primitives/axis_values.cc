#include "schedule/primitives/axis_values.h"

#include <algorithm>

#include "src/ir/simplify.h"

namespace tw::schedule::primitives {

ir::Var axis_var(const Axis& loop) {
  std::string name = loop.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '*'; }, '_');
  return ir::Var(name);
}

ir::Expr root_values(const StageNest& stage, Which which, std::vector<ir::Expr>& values) {
  const auto asked = [&](AxisId axis) { return stage.axes[axis].reduction == (which == Which::kReductions); };
  ir::Expr inside;
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
    if (const auto* split = std::get_if<SplitRelation>(&*relation)) {
      if (!asked(split->parent)) continue;
      const ir::Expr factor = stage_extent(stage, split->inner), n = stage_extent(stage, split->parent);
      values[split->parent] = values[split->outer] * factor + values[split->inner];
      if (ir::is_int(ir::simplify(stage_extent(stage, split->outer) * factor - n), 0)) continue;
      const ir::Expr holds = values[split->parent] < n;
      inside = inside ? inside && holds : holds;
    } else if (const auto& fuse = std::get<FuseRelation>(*relation); asked(fuse.fused)) {
      values[fuse.outer] = ir::floordiv(values[fuse.fused], stage_extent(stage, fuse.inner));
      values[fuse.inner] = ir::floormod(values[fuse.fused], stage_extent(stage, fuse.inner));
    }
  }
  return inside;
}

void leaf_values(const StageNest& stage, std::vector<ir::Expr>& values) {
  std::vector<bool> derived(values.size());
  for (const Relation& relation : stage.relations) {
    const auto* split = std::get_if<SplitRelation>(&relation);
    if (split) derived[split->outer] = derived[split->inner] = true;
    if (!split) derived[std::get<FuseRelation>(relation).fused] = true;
  }
  // A loop that came of none runs once.
  for (size_t a = static_cast<size_t>(stage.data_rank + stage.reduce_rank); a < values.size(); ++a)
    if (!derived[a] && !stage.axes[a].reduction) values[a] = 0;
  for (const Relation& relation : stage.relations) {
    if (const auto* split = std::get_if<SplitRelation>(&relation)) {
      if (!values[split->parent]) continue;
      values[split->outer] = ir::floordiv(values[split->parent], stage_extent(stage, split->inner));
      values[split->inner] = ir::floormod(values[split->parent], stage_extent(stage, split->inner));
    } else if (const auto& fuse = std::get<FuseRelation>(relation); values[fuse.outer]) {
      values[fuse.fused] = values[fuse.outer] * stage_extent(stage, fuse.inner) + values[fuse.inner];
    }
  }
}

}  // namespace tw::schedule::primitives
