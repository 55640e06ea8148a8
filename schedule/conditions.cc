#include "schedule/conditions.h"

#include <algorithm>

#include "schedule/filled.h"
#include "schedule/zero_terms.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/scan.h"

namespace tw::schedule {

namespace {

class Finder {
 public:
  Finder(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Slide& slide,
         const Launches& launches, int innermost)
      : nest_(nest), placed_(placed), all_(all), slide_(slide), launches_(launches), innermost_(innermost) {}

  void find(Emission& stage) const {
    for (const Relation& relation : stage.nest.relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (split && split->parent == stage.nest.persistent.whole && stage.bounds.loop[stage.nest.persistent.tiles])
        continue;  // tiles_of_block.h; of one tile at most there is no loop
      if (!split || !is_uneven(stage.bounds, *split) || is_shifted(stage.nest, stage.bounds, *split)) continue;
      if (adds_zeros(nest_, placed_, all_, stage.id, *split)) continue;
      add_end(stage, stage.bounds.value[split->parent] < stage.bounds.extent[split->parent].expr(),
              !stage.nest.axes[split->parent].reduction);
    }
    for (AxisId d = 0; d < stage.nest.data_rank; ++d)
      for (const ir::Expr& edge : edges(stage.nest, stage.bounds, d)) add_end(stage, edge, true);
    for (size_t d = 0; d < stage.bounds.needed.size(); ++d) {
      const Needed& part = stage.bounds.needed[d];
      if (part.from) add_condition(stage, stage.bounds.index[d] >= part.from, true);
      if (part.to) add_condition(stage, stage.bounds.index[d] <= part.to, true);
    }
    if (int scan = placed_.scan[stage.id]; scan != kNone)  // what depends on a state begins after the given states
      add_condition(stage, stage.bounds.index[0] >= te::first_time(*nest_.stage(scan).op->scan()), true);
    if (slide_.kind == SlideKind::kRolling)
      add_condition(
          stage,
          stage.bounds.value[slide_.dim] >= ir::Expr(slide_.extent - slide_.step) || ir::eq(slide_.loop, ir::Expr(0)),
          true);
    find_thread_limits(stage);
    if (stage.nest.store_predicate) {
      ir::Substitution index;
      for (int d = 0; d < stage.nest.data_rank; ++d) index[stage.nest.axes[d].var.id()] = stage.bounds.index[d];
      add_condition(stage, ir::substitute(stage.nest.store_predicate, index), true);
    }
  }

 private:
  // Which of the launch's threads compute the stage.
  void find_thread_limits(Emission& stage) const {
    for (const DeviceIndex& index : launches_.indices(stage.id)) {
      const std::optional<Extent> limit = launches_.limit(stage.id, index);
      if (!limit) continue;
      Condition condition{ir::Expr(index.var) < limit->expr(), 0, true};
      for (size_t position = 0; position < stage.nest.leaves.size(); ++position) {
        const Axis& axis = stage.nest.axes[stage.nest.leaves[position]];
        if (axis.annotation != index.kind) continue;
        condition.data = !axis.reduction || *limit == 1;  // else the others have no term
        condition.level = static_cast<int>(position) + 1;
        if (!condition.data) condition.level = std::max(condition.level, stage.first_reduction + 1);
      }
      stage.conditions.push_back(std::move(condition));
    }
  }

  // Of splits and edges.
  void add_end(Emission& stage, const ir::Expr& holds, bool data) const {
    if (!takes_whole_tiles(nest_, placed_, all_, stage.id)) return add_condition(stage, holds, data);
    const ir::Expr inside = ir::simplify(holds, all_.ranges);
    const bool always = ir::is_int(inside, 1) || ir::can_prove(inside, all_.ranges, stage.bounds.facts);
    if (data && !always) stage.stored = both(stage.stored, inside);
  }

  void add_condition(Emission& stage, const ir::Expr& holds, bool data) const {
    Condition condition{ir::simplify(holds, all_.ranges), 0, data};
    if (ir::is_int(condition.holds, 1) || ir::can_prove(condition.holds, all_.ranges, stage.bounds.facts)) return;
    if (!data) condition.level = stage.first_reduction + 1;  // never around what a reduction starts from
    auto used = ir::used_vars(condition.holds);
    for (size_t position = 0; position < stage.nest.leaves.size(); ++position) {
      const ir::Var& var = stage.bounds.loop[stage.nest.leaves[position]];
      if (var && used.contains(var.id())) condition.level = std::max(condition.level, static_cast<int>(position) + 1);
    }
    if (!data && selects_lanes(stage, used))
      stage.partial.counts = both(stage.partial.counts, condition.holds);
    else
      stage.conditions.push_back(std::move(condition));
  }

  // Whether a condition on these is one that each lane's term can be selected by: of lanes, and guarding nothing else.
  bool selects_lanes(const Emission& stage, const std::unordered_set<uint64_t>& used) const {
    const int lanes = stage.partial.position;
    if (lanes == kNone || !used.contains(stage.bounds.loop[stage.nest.leaves[lanes]].id())) return false;
    return innermost_ < lanes;
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const Slide& slide_;
  const Launches& launches_;
  const int innermost_;
};

}  // namespace

ir::Expr both(const ir::Expr& a, const ir::Expr& b) {
  if (!a) return b;
  return b ? a && b : a;
}

void find_conditions(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Slide& slide,
                     const Launches& launches, int innermost, Emission& stage) {
  Finder(nest, placed, all, slide, launches, innermost).find(stage);
}

}  // namespace tw::schedule
