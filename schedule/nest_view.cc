// Loops, ranges and accesses of the stages of a nest.
#include "schedule/nest_view.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "schedule/body_view.h"
#include "schedule/box.h"
#include "schedule/layout.h"
#include "schedule/pad.h"
#include "schedule/placement.h"
#include "schedule/spans.h"
#include "src/ir/walk.h"

namespace tw::schedule {

double StageView::trips() const {
  double trips = 1;
  for (const LoopView& loop : loops) trips *= static_cast<double>(loop.extent);
  return trips;
}

namespace {

void walk_along(const LoopView& loop, const std::vector<int64_t>& extents, std::vector<int64_t>& ranges) {
  for (const LoopView& part : loop.parts) walk_along(part, extents, ranges);
  if (!loop.parts.empty()) return;
  for (int root : loop.roots) {
    int64_t& range = ranges[static_cast<size_t>(root)];
    const int64_t full = extents[static_cast<size_t>(root)];
    range = loop.roots.size() > 1 ? full : std::min(full, range + (loop.extent - 1) * loop.step);
  }
}

}  // namespace

std::vector<int64_t> ranges_of(const std::vector<LoopView>& loops, const std::vector<int64_t>& extents, size_t depth) {
  std::vector<int64_t> ranges(extents.size(), 1);
  for (size_t l = depth; l < loops.size(); ++l) walk_along(loops[l], extents, ranges);
  return ranges;
}

namespace {

class Viewer {
 public:
  explicit Viewer(const LoopNest& nest)
      : nest_(nest),
        views_(static_cast<size_t>(nest.size())),
        bounds_(static_cast<size_t>(nest.size())),
        from_(static_cast<size_t>(nest.size())) {
    bool inlined = false;
    for (int i = 0; i < nest.size(); ++i) inlined |= nest.stage(i).attach.kind == AttachKind::kInline;
    std::vector<std::vector<ir::Expr>> bodies;
    if (inlined) bodies = inline_bodies(nest, {}, Padding::kLeftOut);
    for (int i = 0; i < nest.size(); ++i) {
      if (!has_loops(i)) continue;
      StageView& view = views_[static_cast<size_t>(i)];
      view.stage = i;
      read_bodies(nest, nest.stage(i), inlined ? bodies[static_cast<size_t>(i)] : nest.stage(i).bodies, view);
    }
  }

  std::vector<StageView> run() {
    for (int i = nest_.size(); i-- > 0;) {
      if (has_loops(i)) view(i);
    }
    for (StageView& view : views_)
      for (AccessView& access : view.accesses) {
        access.scratch_bytes = scratch_bytes(access);
        lay_out(access);
      }
    std::vector<StageView> out;
    for (int i = 0; i < nest_.size(); ++i) {
      if (has_loops(i)) out.push_back(std::move(views_[static_cast<size_t>(i)]));
    }
    return out;
  }

 private:
  bool has_loops(int i) const {
    return !nest_.stage(i).is_placeholder() && nest_.stage(i).attach.kind != AttachKind::kInline;
  }

  double scratch_bytes(const AccessView& access) const {
    const int i = nest_.find_stage(access.buffer);
    if (i == kNone || !has_loops(i) || nest_.stage(i).output) return 0;
    double bytes = access.element_bytes;
    for (int d = 0; d < nest_.stage(i).data_rank; ++d)
      bytes *= static_cast<double>(views_[static_cast<size_t>(i)].root_extents[static_cast<size_t>(d)]);
    return bytes;
  }

  // From the dimensions of a tensor to those of its memory.
  void lay_out(AccessView& access) const {
    const int i = nest_.find_stage(access.buffer);
    if (i == kNone || !nest_.stage(i).layout) return;
    std::vector<Extent> extents;
    for (size_t d = 0; d < access.shape.size(); ++d)
      extents.emplace_back(has_loops(i) ? views_[static_cast<size_t>(i)].root_extents[d] : access.shape[d]);
    if (const auto map = index_map(*nest_.stage(i).layout, extents); map.ok()) in_memory(*map, access);
  }

  // The extents of stage i's data axes that its readers need below loop `depth` of the stage `host`.
  Box region(int i, int host, size_t depth) {
    const StageNest& stage = nest_.stage(i);
    Box region(static_cast<size_t>(stage.data_rank));
    for (int r = i + 1; r < nest_.size(); ++r) {
      if (!has_loops(r)) continue;
      const StageView& view = views_[static_cast<size_t>(r)];
      std::optional<std::vector<Run>> runs;
      for (const AccessView& access : view.accesses) {
        if (access.store || stage.output_of(access.buffer) == kNone) continue;
        if (!runs) runs = runs_of(i, r, host, depth);
        region.join(access, *runs);
      }
    }
    return region;
  }

  // Where the root axes of a reader run while its leaves up to `level` stand still, and those of threads that have what
  // they read to themselves.
  std::vector<Run> runs_inside(int i, int level, Team of) const {
    const StageNest& stage = nest_.stage(i);
    std::vector<char> stands;
    for (int position = 0; position < static_cast<int>(stage.leaves.size()); ++position) {
      const Annotation annotation = stage.axes[stage.leaves[static_cast<size_t>(position)]].annotation;
      stands.push_back(position <= level ||
                       (is_thread(annotation) && of != Team::kBlock && !runs_through(of, annotation)));
    }
    std::vector<Run> runs;
    for (const Range& range : ranges_inside(stage, bounds_[static_cast<size_t>(i)], stands)) {
      const std::optional<int64_t>& from = from_[static_cast<size_t>(i)][runs.size()];
      runs.push_back({range.count, range.from_first ? from : std::nullopt});
    }
    return runs;
  }

  // Where the root axes of a reader run for what stage i computes below loop `depth` of the stage `host`.
  std::vector<Run> runs_of(int i, int reader, int host, size_t depth) {
    const StageView& view = views_[static_cast<size_t>(reader)];
    const size_t standing = depth_of(host, depth);
    const Team of = team(i);
    std::vector<Run> runs = runs_inside(reader, reader == host ? static_cast<int>(depth) - 1 : kNone, of);
    if (reader != host) move(view, standing, runs);
    if (of != Team::kNone)
      run_threads(of, view, reader == host ? view.around.size() : standing, reader == host ? depth : 0, runs);
    return runs;
  }

  // Whose threads compute the stage for each other.
  Team team(int i) {
    if (!launches_) return Team::kNone;
    if (!placed_) {
      const auto placed = place(nest_, {});
      placed_ = placed.ok() ? *placed : Placement{};
    }
    return placed_->together.empty() ? Team::kNone : placed_->together[static_cast<size_t>(i)];
  }

  // Of the loops that stand still, the first ones around a reader and of its own, those of threads run as well.
  static void run_threads(Team team, const StageView& reader, size_t around, size_t own, std::vector<Run>& runs) {
    const auto run = [&](const LoopView& loop) {
      if (runs_through(team, loop.annotation)) run_along(loop, reader.domain, runs);
    };
    std::for_each(reader.around.begin(), reader.around.begin() + static_cast<ptrdiff_t>(around), run);
    std::for_each(reader.loops.begin(), reader.loops.begin() + static_cast<ptrdiff_t>(own), run);
  }

  // Of a fused loop each part along its own axes.
  static void run_along(const LoopView& loop, const std::vector<int64_t>& domain, std::vector<Run>& runs) {
    for (const LoopView& part : loop.parts) run_along(part, domain, runs);
    if (!loop.parts.empty()) return;
    for (int root : loop.roots) {
      int64_t& count = runs[static_cast<size_t>(root)].count;
      count = std::min(domain[static_cast<size_t>(root)], count + (loop.extent - 1) * loop.step);
    }
  }

  // How many loops stand around what is computed inside the first `depth` loops of the stage `host`.
  size_t depth_of(int host, size_t depth) const { return views_[static_cast<size_t>(host)].around.size() + depth; }

  // How far the region of a stage ranges while the loops around it run, but for the first `standing`.
  static void move(const StageView& view, size_t standing, std::vector<Run>& runs) {
    for (size_t l = standing; l < view.around.size(); ++l) run_along(view.around[l], view.domain, runs);
    for (Run& run : runs) run.from = std::nullopt;
  }

  void view(int i) {
    const StageNest& stage = nest_.stage(i);
    StageView& view = views_[static_cast<size_t>(i)];
    std::vector<std::optional<int64_t>>& from = from_[static_cast<size_t>(i)];
    for (size_t a = 0; a < root_count(stage); ++a) {
      view.root_extents.push_back(assumed(stage.axes[a].extent.expr()));
      from.push_back(stage.axes[a].reduction ? ir::as_int(stage.axes[a].min.expr()) : 0);
    }
    view.domain = view.root_extents;
    if (stage.attach.kind == AttachKind::kAt) place_inside(stage, i, view);
    StageBounds& bounds = bounds_[static_cast<size_t>(i)];
    bounds.extent.assign(stage.axes.size(), 1);
    std::copy(view.root_extents.begin(), view.root_extents.end(), bounds.extent.begin());
    round_up(stage, bounds);
    derive_extents(stage, bounds);
    make_loops(stage, bounds, view);
  }

  void place_inside(const StageNest& stage, int i, StageView& view) {
    const int host = nest_.find_stage(stage.attach.stage);
    if (host == kNone) return;
    const StageView& outer = views_[static_cast<size_t>(host)];
    const int position = nest_.stage(host).position(attach_leaf(nest_.stage(host), stage.attach.axis));
    if (position == kNone || outer.loops.empty()) return;
    const size_t depth = static_cast<size_t>(position) + 1;
    const Box needed = region(i, host, depth);
    for (size_t d = 0; d < needed.rank(); ++d) {
      const Run run = needed.run(d, view.root_extents[d]);
      view.root_extents[d] = run.count;
      from_[static_cast<size_t>(i)][d] = run.from;
    }
    if (stage.op->scan() || (launches_ && is_read_anywhere(i))) take_region(i, view);
    view.enclosing = outer.enclosing;
    view.parallel_around = outer.parallel_around;
    for (size_t l = 0; l < depth; ++l) {
      const bool shares = runs_through(team(i), outer.loops[l].annotation);
      if (!shares) view.enclosing *= static_cast<double>(outer.loops[l].extent);
      if (runs_concurrently(outer.loops[l].annotation)) view.parallel_around *= outer.loops[l].extent;
    }
    view.around = loops_around(i, host, depth);
  }

  // Whether what its readers need is no sum of axes.
  bool is_read_anywhere(int i) const {
    return std::ranges::any_of(views_, [&](const StageView& reader) {
      return std::ranges::any_of(reader.accesses, [&](const AccessView& access) {
        return !access.store && !access.affine && nest_.stage(i).output_of(access.buffer) != kNone;
      });
    });
  }

  // What a scan inside a loop computes for its own updates, and a block of what is read by groups, bounds inference
  // alone knows.
  void take_region(int i, StageView& view) {
    if (!inferred_) {
      const auto placed = place(nest_, {});
      inferred_ = placed.ok() ? infer_bounds(nest_, *placed) : NestBounds{};
    }
    if (inferred_->stages.empty()) return;
    const StageBounds& bounds = inferred_->stages[static_cast<size_t>(i)];
    for (size_t d = 0; d < bounds.lo.size(); ++d) {
      if (!bounds.extent[d].known()) continue;
      view.root_extents[d] = bounds.extent[d].value();
      from_[static_cast<size_t>(i)][d] = ir::as_int(bounds.lo[d]);
    }
  }

  // The loops around stage i in `host`: along which of its axes, and how far, each moves what its readers need.
  std::vector<LoopView> loops_around(int i, int host, size_t depth) const {
    const StageView& outer = views_[static_cast<size_t>(host)];
    std::vector<LoopView> loops = outer.around;
    loops.insert(loops.end(), outer.loops.begin(), outer.loops.begin() + static_cast<ptrdiff_t>(depth));
    for (LoopView& loop : loops) loop = standing(loop);
    for (int r = i + 1; r < nest_.size(); ++r) {
      if (!has_loops(r)) continue;
      const StageView& reader = views_[static_cast<size_t>(r)];
      const size_t outside = r == host ? outer.around.size() : reader.around.size();
      for (size_t l = 0; l < loops.size(); ++l) {
        if (l < outside)
          follow(i, reader, reader.around[l], loops[l]);
        else if (r == host)
          follow(i, reader, reader.loops[l - outside], loops[l]);
      }
    }
    return loops;
  }

  static LoopView standing(const LoopView& loop) {
    LoopView still{loop.extent, {}, 0, false, loop.annotation};
    for (const LoopView& part : loop.parts) still.parts.push_back(standing(part));
    return still;
  }

  // A loop of a reader moves the reads of stage i, and these the region.
  void follow(int i, const StageView& reader, const LoopView& loop, LoopView& seen) const {
    const StageNest& stage = nest_.stage(i);
    for (const AccessView& access : reader.accesses) {
      if (access.store || stage.output_of(access.buffer) == kNone) continue;
      for (int d = 0; d < stage.data_rank; ++d) {
        int64_t moved = access.affine ? 0 : 1;
        for (int root : loop.roots)
          moved = std::max(moved, std::abs(access.coefficients[static_cast<size_t>(d)][static_cast<size_t>(root)]));
        if (moved == 0) continue;
        if (std::find(seen.roots.begin(), seen.roots.end(), d) == seen.roots.end()) seen.roots.push_back(d);
        seen.step = std::max(seen.step, moved * loop.step);
      }
    }
    for (size_t p = 0; p < std::min(loop.parts.size(), seen.parts.size()); ++p)
      follow(i, reader, loop.parts[p], seen.parts[p]);
  }

  void make_loops(const StageNest& stage, const StageBounds& bounds, StageView& view) const {
    std::vector<LoopView> axes(stage.axes.size());
    for (size_t a = 0; a < axes.size(); ++a) {
      axes[a].extent = bounds.extent[a].value_or(1);
      if (a < view.root_extents.size()) {
        axes[a].roots = {static_cast<int>(a)};
        view.waste *=
            static_cast<double>(axes[a].extent) / static_cast<double>(std::max<int64_t>(view.root_extents[a], 1));
        view.root_extents[a] = axes[a].extent;
      }
      axes[a].reduction = stage.axes[a].reduction;
      axes[a].annotation = stage.axes[a].annotation;
    }
    const auto at = [&](AxisId id) -> LoopView& { return axes[static_cast<size_t>(id)]; };
    for (const Relation& relation : stage.relations) {
      if (const auto* split = std::get_if<SplitRelation>(&relation)) {
        const LoopView& parent = at(split->parent);
        LoopView &outer = at(split->outer), &inner = at(split->inner);
        inner.roots = outer.roots = parent.roots;
        inner.step = parent.step;
        outer.step = parent.step * inner.extent;
        view.waste *=
            static_cast<double>(outer.extent * inner.extent) / static_cast<double>(std::max<int64_t>(parent.extent, 1));
      } else {
        const auto& fuse = std::get<FuseRelation>(relation);
        LoopView& fused = at(fuse.fused);
        fused.roots = at(fuse.outer).roots;
        if (launches_) fused.step = at(fuse.inner).step;  // threads are neighbours along it
        fused.parts.clear();
        for (const AxisId id : {fuse.outer, fuse.inner}) {
          const LoopView& of = at(id);
          if (of.parts.empty())
            fused.parts.push_back(of);
          else
            fused.parts.insert(fused.parts.end(), of.parts.begin(), of.parts.end());
        }
        for (int root : at(fuse.inner).roots) {
          if (std::find(fused.roots.begin(), fused.roots.end(), root) == fused.roots.end()) fused.roots.push_back(root);
        }
      }
    }
    for (AxisId leaf : stage.leaves) view.loops.push_back(at(leaf));
  }

  const LoopNest& nest_;
  std::vector<StageView> views_;
  const bool launches_ = has_launches(nest_);
  std::optional<Placement> placed_;                        // only where there are launches
  std::optional<NestBounds> inferred_;                     // only where somebody asks; empty: there are none
  std::vector<StageBounds> bounds_;                        // extents alone
  std::vector<std::vector<std::optional<int64_t>>> from_;  // of each stage's root axes, as Run has it
};

}  // namespace

std::vector<StageView> view_stages(const LoopNest& nest) { return Viewer(nest).run(); }

}  // namespace tw::schedule
