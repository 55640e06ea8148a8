// From a stage's region to its loops: extents through splits and fuses, and back from loop variables to the values of
// axes.
#include "schedule/bounds.h"

#include <algorithm>
#include <set>

#include "schedule/check.h"
#include "schedule/pad.h"
#include "schedule/sliding.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

std::pair<Extent, Extent> split_extents(const Extent& n, const SplitRelation& split) {
  Extent inner = split.by_parts() ? ceil_div(n, split.parts) : split.factor;
  const bool lanes_past_the_end = split.tail == Tail::kPad || split.tail == Tail::kMask;
  if (!lanes_past_the_end && n.known() && n.value() > 0 && inner.known()) inner = std::min(inner.value(), n.value());
  const bool all_parts = split.by_parts() && !inner.known();
  return {all_parts ? split.parts : ceil_div(n, inner), inner};
}

bool is_uneven(const StageBounds& bounds, const SplitRelation& split) {
  return !(bounds.extent[split.outer] * bounds.extent[split.inner] == bounds.extent[split.parent]);
}

bool is_shifted(const StageNest& stage, const StageBounds& bounds, const SplitRelation& split) {
  const Extent &n = bounds.extent[split.parent], &factor = bounds.extent[split.inner];
  return split.tail == Tail::kShiftInward && n.known() && factor.known() && n.value() >= factor.value() &&
         is_uneven(bounds, split) && check_shift(stage, split, {}).ok();
}

std::vector<ir::Expr> edges(const StageNest& stage, const StageBounds& bounds, AxisId axis) {
  const Extent& extent = stage.axes[axis].extent;
  if (!bounds.inside.empty() && bounds.inside[axis]) return {};
  if (bounds.filled || is_padded(stage, axis) || (ir::is_int(bounds.lo[axis], 0) && bounds.extent[axis] == extent))
    return {};
  return {bounds.index[axis] >= ir::Expr(0), bounds.index[axis] < extent.expr()};
}

void derive_extents(const StageNest& stage, StageBounds& bounds) {
  for (const Relation& relation : stage.relations) {
    if (const auto* split = std::get_if<SplitRelation>(&relation)) {
      const auto [outer, inner] = split_extents(bounds.extent[split->parent], *split);
      const Extent& whole = stage.axes[split->outer].extent;
      const bool number = outer.known() || !whole.known();
      bounds.extent[split->outer] = number ? outer : whole;  // vectors and unrolled loops ask for one
      bounds.extent[split->inner] = inner;
    } else {
      const auto& fuse = std::get<FuseRelation>(relation);
      bounds.extent[fuse.fused] = bounds.extent[fuse.outer] * bounds.extent[fuse.inner];
    }
  }
}

namespace {

std::string loop_name(std::string name) {
  std::replace(name.begin(), name.end(), '*', '_');
  return name;
}

ir::Interval iterations(const Extent& extent, const ir::Bounds& ranges) {
  const int64_t times = ir::interval_of(extent.expr(), ranges).hi;
  return {0, times == ir::Interval::kPosInf ? times : std::max<int64_t>(times - 1, 0)};
}

void make_loops(const StageNest& stage, StageBounds& bounds, NestBounds& all) {
  bounds.loop.resize(stage.axes.size());
  bounds.value.resize(stage.axes.size());
  for (AxisId leaf : stage.leaves) {
    bounds.value[leaf] = 0;
    const Extent& extent = bounds.extent[leaf];
    if (extent == 1) continue;
    ir::Var var(loop_name(stage.axes[leaf].name));
    all.ranges[var.id()] = iterations(extent, all.ranges);
    all.numbers[var.id()] = iterations(extent, all.numbers);
    bounds.loop[leaf] = var;
    bounds.value[leaf] = var;
  }
}

void derive_values(const StageNest& stage, StageBounds& bounds, const ir::Bounds& ranges) {
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
    if (const auto* split = std::get_if<SplitRelation>(&*relation)) {
      ir::Expr factor = bounds.extent[split->inner].expr();
      ir::Expr base = bounds.value[split->outer] * factor;
      if (is_shifted(stage, bounds, *split)) base = ir::min(base, bounds.extent[split->parent].expr() - factor);
      bounds.value[split->parent] = ir::simplify(base + bounds.value[split->inner], ranges);
    } else {
      const auto& fuse = std::get<FuseRelation>(*relation);
      ir::Expr fused = bounds.value[fuse.fused], inner = bounds.extent[fuse.inner].expr();
      if (ir::is_int(inner, 0)) inner = 1;
      bounds.value[fuse.outer] = ir::simplify(ir::floordiv(fused, inner), ranges);
      bounds.value[fuse.inner] = ir::simplify(ir::floormod(fused, inner), ranges);
    }
  }
  int roots = stage.data_rank + stage.reduce_rank;
  for (int axis = 0; axis < roots; ++axis) {
    ir::Expr from = axis < stage.data_rank ? bounds.lo[axis] : stage.axes[axis].min.expr();
    bounds.index.push_back(ir::simplify(from + bounds.value[axis], ranges));
  }
}

// What turns, is padded or replaced by an intrinsic is computed as a whole region.
bool computed_in_part(const StageNest& stage, AxisId axis) {
  return !has_turning_buffer(stage) && !stage.tensorized.intrin && !is_padded(stage, axis);
}

void take_region(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i, StageBounds& bounds) {
  const StageNest& stage = nest.stage(i);
  Region region{bounds.lo, {bounds.extent.begin(), bounds.extent.begin() + stage.data_rank}, {}, {}, {}};
  infer_region(nest, placed, all, i, region);
  std::copy(region.extent.begin(), region.extent.end(), bounds.extent.begin());
  for (AxisId d = 0; d < stage.data_rank; ++d)
    if (!computed_in_part(stage, d)) region.needed[d] = {};
  bounds.lo = std::move(region.lo);
  bounds.needed = std::move(region.needed);
  if (!stage.op->scan()) bounds.inside = std::move(region.inside);
  bounds.unbounded = std::move(region.unbounded);
  bounds.filled = region.filled;
  bounds.terms = std::move(region.terms);
}

}  // namespace

bool is_in_place(const StageNest& reader, const Read& read, AxisId d) {
  const std::vector<ir::Expr>& at = ir::as<ir::Load>(read.load)->at;
  const auto* var = d < static_cast<AxisId>(at.size()) ? ir::as<ir::VarRef>(at[d]) : nullptr;
  return var && d < reader.data_rank && var->var == reader.axes[d].var;
}

bool stays_in_place(const LoopNest& nest, const Placement& placed, int scan, AxisId d) {
  const auto inside = [&](int stage) { return stage == scan || placed.scan[stage] == scan; };
  for (int i = 0; i < nest.size(); ++i) {
    if (!inside(i)) continue;
    for (const Read& read : placed.reads[i])
      if (inside(read.source) && !is_in_place(nest.stage(i), read, d)) return false;
  }
  return true;
}

namespace {

// Dimensions of scans inside of loops of which all elements are computed: by stage.
using WholeDimensions = std::set<std::pair<int, AxisId>>;

// Of a scan inside a loop: the times from the first one on unless the loop goes along them (sliding.h), all elements
// that the updates of others read.
void take_earlier_times(const LoopNest& nest, const Placement& placed, const WholeDimensions& whole, int i,
                        StageBounds& bounds) {
  for (AxisId d = 1; d < nest.stage(i).data_rank; ++d) {
    if (!whole.contains({i, d}) && stays_in_place(nest, placed, i, d)) continue;
    bounds.lo[d] = 0;
    bounds.extent[d] = nest.stage(i).axes[d].extent;
  }
  if (const auto begin = ir::as_int(bounds.lo[0])) {
    bounds.lo[0] = 0;
    bounds.extent[0] = bounds.extent[0] + Extent(*begin);
  }
}

std::vector<ir::Expr> facts_about(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  std::vector<ir::Expr> facts;
  auto open = static_cast<int>(nest.stage(i).leaves.size());
  for (int stage = i; stage != kNone; open = placed.level[stage] + 1, stage = placed.parent[stage]) {
    const StageBounds& bounds = all.stages[stage];
    for (int position = 0; position < open; ++position) {
      const AxisId leaf = nest.stage(stage).leaves[position];
      if (bounds.loop[leaf] && !bounds.extent[leaf].known())
        facts.push_back(ir::Expr(bounds.loop[leaf]) < bounds.extent[leaf].expr());
    }
  }
  return facts;
}

// Whether stage i is computed, in this dimension, where the scan has its states and nowhere else.
bool within(const NestBounds& all, int i, int scan, AxisId d) {
  const StageBounds &inner = all.stages[i], &outer = all.stages[scan];
  const ir::Expr begin = outer.lo[d], end = begin + outer.extent[d].expr();
  return ir::can_prove(begin <= inner.lo[d], all.ranges, inner.facts) &&
         ir::can_prove(inner.lo[d] + inner.extent[d].expr() <= end, all.ranges, inner.facts);
}

// The dimensions in which a stage of an update, whose loops may reach further than what is needed, reads states beyond
// those that the scan computes there.
WholeDimensions read_beyond(const LoopNest& nest, const Placement& placed, const NestBounds& all) {
  WholeDimensions found;
  for (int i = 0; i < nest.size(); ++i) {
    const int scan = placed.scan[i];
    if (!placed.live(i) || scan == kNone || placed.parent[scan] == kNone) continue;
    for (const Read& read : placed.reads[i])
      for (AxisId d = 1; read.source == scan && d < nest.stage(scan).data_rank; ++d)
        if (stays_in_place(nest, placed, scan, d) && !within(all, i, scan, d)) found.emplace(scan, d);
  }
  return found;
}

NestBounds infer_with(const LoopNest& nest, const Placement& placed, const WholeDimensions& whole) {
  NestBounds all;
  all.ranges = all.numbers = nest.scalars();
  for (auto& [id, values] : all.numbers)
    if (values.hi == ir::kLargestExtent) values.hi = ir::Interval::kPosInf;
  all.stages.resize(nest.size());
  for (int i = nest.size(); i-- > 0;) {  // readers first: a region is what they read
    if (!placed.live(i)) continue;
    const StageNest& stage = nest.stage(i);
    StageBounds bounds;
    bounds.extent.resize(stage.axes.size());
    for (int axis = 0; axis < stage.data_rank + stage.reduce_rank; ++axis)
      bounds.extent[axis] = stage.axes[axis].extent;
    bounds.lo.assign(stage.data_rank, 0);
    if (placed.parent[i] != kNone) take_region(nest, placed, all, i, bounds);
    if (stage.op->scan() && placed.parent[i] != kNone) take_earlier_times(nest, placed, whole, i, bounds);
    if (int scan = placed.scan[i]; scan != kNone) {  // its own time only: later states are not there yet
      bounds.lo[0] = all.stages[scan].index[0];
      bounds.extent[0] = 1;
      if (!bounds.needed.empty()) bounds.needed[0] = {}, bounds.inside[0] = 0;
    }
    round_up(stage, bounds);
    derive_extents(stage, bounds);
    make_loops(stage, bounds, all);
    derive_values(stage, bounds, all.ranges);
    all.stages[i] = std::move(bounds);
    all.stages[i].facts = facts_about(nest, placed, all, i);
  }
  return all;
}

}  // namespace

NestBounds infer_bounds(const LoopNest& nest, const Placement& placed) {
  WholeDimensions whole;
  for (;;) {
    NestBounds all = infer_with(nest, placed, whole);
    const size_t known = whole.size();
    whole.merge(read_beyond(nest, placed, all));
    if (whole.size() == known) return all;
  }
}

}  // namespace tw::schedule
