// The extents that explanations, features and the tuner's bound go by are those of the derived program: where all of
// them are numbers and each attached stage is read once, unconditionally, at sums of axes; elsewhere views estimate.
// Where a reader leaves out a part of its own region, or begins within a line of a fused loop, which views do not know,
// the program computes no more than they say. What the threads of a device compute together they do not know either:
// views are of hosts.
#include "tests/diff/extents.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "schedule/bounds.h"
#include "schedule/nest_view.h"

namespace tw::diff {

namespace {

using schedule::LoopNest;
using schedule::Placement;

bool all_numbers(const std::vector<schedule::Extent>& extents) {
  for (const schedule::Extent& extent : extents)
    if (!extent.known() || extent.value() == 0) return false;
  return true;
}

// Whether the regions of the stage and of all around it are what a view knows exactly.
bool exact(const LoopNest& nest, const Placement& placed, const schedule::NestBounds& bounds,
           const std::unordered_map<int, const schedule::StageView*>& views, int i) {
  for (int at = i; placed.parent[at] != schedule::kNone; at = placed.parent[at]) {
    if (placed.readers[at].size() != 1 || placed.readers[at][0] != placed.parent[at] ||
        placed.scan[at] != schedule::kNone)
      return false;
    const int reader = placed.readers[at][0];
    int reads = 0;
    for (const schedule::Read& read : placed.reads[reader])
      if (read.source == at) reads += 1 + static_cast<int>(read.holds.size());
    if (reads != 1 || !all_numbers(bounds.stages[reader].extent)) return false;
    for (const schedule::AccessView& access : views.at(reader)->accesses)
      if (!access.store && nest.stage(at).output_of(access.buffer) != schedule::kNone && !access.affine) return false;
  }
  return all_numbers(bounds.stages[i].extent);
}

bool leaves_out(const schedule::StageBounds& bounds) {
  return std::ranges::any_of(bounds.needed, [](const schedule::Needed& part) { return !!part.from || !!part.to; });
}

// Whether a part of a part of a fused loop is shifted inward: how far from the end of a line it begins, which views do
// not know.
bool shifts_fused(const schedule::StageNest& stage) {
  std::unordered_set<schedule::AxisId> fused, parts;
  for (const schedule::Relation& relation : stage.relations) {
    if (const auto* fuse = std::get_if<schedule::FuseRelation>(&relation)) {
      fused.insert(fuse->fused);
      continue;
    }
    const auto& split = std::get<schedule::SplitRelation>(relation);
    if (parts.contains(split.parent) && split.tail == ir::Tail::kShiftInward) return true;
    if (fused.contains(split.parent) || parts.contains(split.parent)) parts.insert({split.outer, split.inner});
  }
  return false;
}

// Whether views know of a reader of the stage, or of one around it, no more than a region around its own: it leaves out
// a part, or is shifted.
bool narrowed(const LoopNest& nest, const Placement& placed, const schedule::NestBounds& bounds, int i) {
  for (int at = placed.parent[i]; at != schedule::kNone; at = placed.parent[at])
    if (leaves_out(bounds.stages[at]) || shifts_fused(nest.stage(at))) return true;
  return false;
}

std::string no_less(const schedule::StageNest& stage, const schedule::StageBounds& bounds,
                    const schedule::StageView& view) {
  for (int axis = 0; axis < stage.data_rank; ++axis)
    if (bounds.extent[axis].value() > view.root_extents[static_cast<size_t>(axis)])
      return stage.name + "'s axis " + stage.axes[axis].name + " has " + std::to_string(bounds.extent[axis].value()) +
             " elements; the view has it at " + std::to_string(view.root_extents[static_cast<size_t>(axis)]);
  return "";
}

std::string same_loops(const schedule::StageNest& stage, const schedule::StageBounds& bounds,
                       const schedule::StageView& view) {
  for (size_t l = 0; l < view.loops.size(); ++l) {
    const int64_t derived = bounds.extent[stage.leaves[l]].value();
    if (derived != view.loops[l].extent)
      return stage.name + "'s loop " + stage.axes[stage.leaves[l]].name + " runs " + std::to_string(derived) +
             " times; the view has it at " + std::to_string(view.loops[l].extent);
  }
  return "";
}

}  // namespace

std::string extents_differ(const schedule::Schedule& s) {
  const LoopNest& nest = s.nest();
  const auto placed = schedule::place(nest, s.steps());
  if (!placed.ok() || schedule::has_launches(nest)) return "";
  const schedule::NestBounds bounds = schedule::infer_bounds(nest, *placed);
  const std::vector<schedule::StageView> all = schedule::view_stages(nest);
  std::unordered_map<int, const schedule::StageView*> views;
  for (const schedule::StageView& view : all) views[view.stage] = &view;
  for (const schedule::StageView& view : all) {
    if (!placed->live(view.stage) || !exact(nest, *placed, bounds, views, view.stage)) continue;
    const auto compare = narrowed(nest, *placed, bounds, view.stage) ? no_less : same_loops;
    const std::string found = compare(nest.stage(view.stage), bounds.stages[view.stage], view);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tw::diff
