// What rolling_buffer and double_buffer ask of the nest.
#include "schedule/sliding.h"

#include <algorithm>

#include "schedule/box_copies.h"
#include "schedule/cluster_of.h"
#include "schedule/group_operands.h"
#include "schedule/refuse.h"
#include "schedule/roles_of.h"
#include "schedule/tiles_of_block.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

class Slider {
 public:
  Slider(const LoopNest& nest, const Placement& placed, const NestBounds& all, const std::vector<Step>& steps)
      : nest_(nest), placed_(placed), all_(all), steps_(steps) {}

  Result<Slide> infer(int i) const {
    const StageNest& stage = nest_.stage(i);
    if (stage.op->scan() && placed_.live(i) && placed_.parent[i] != kNone) return continued(i);
    if (placed_.live(i) && placed_.launch[i] != kNone) return ring(i);
    const int step = std::max(stage.rolling, stage.double_buffered);
    if (step == kNone || !placed_.live(i)) return Slide{};
    const std::string name = stage.rolling != kNone ? RollingBuffer::kName : DoubleBuffer::kName;
    if (placed_.parent[i] == kNone)
      return blame(
          refuse(name, "stage must be computed inside a loop of its reader; " + stage.name + " is computed whole")
              << "compute_at(" + stage.name + ", ...) comes first",
          steps_, step);
    TW_TRY([[maybe_unused]] Unit plain, check_loops_around(i, name, step));
    const StageNest& parent = nest_.stage(placed_.parent[i]);
    const StageBounds& around = all_.stages[placed_.parent[i]];
    AxisId leaf = parent.leaves[placed_.level[i]];
    if (!around.loop[leaf]) return Slide{};  // one iteration
    Slide slide;
    slide.loop = around.loop[leaf];
    slide.trips = around.extent[leaf].expr();
    if (stage.double_buffered != kNone) {
      slide.kind = SlideKind::kDouble;
      slide.slots = 2;
      TW_TRY([[maybe_unused]] Unit ready, check_sources(i, step));
      return slide;
    }
    slide.kind = SlideKind::kRolling;
    TW_TRY([[maybe_unused]] Unit moved, find_motion(i, slide));
    return slide.step < slide.extent ? slide : Slide{};  // else nothing of the region is read again
  }

  // Each pipeline has something to keep in its loop.
  Status check_pipelines(const std::vector<Slide>& slides) const {
    for (int i = 0; i < nest_.size(); ++i)
      for (const PipelineNote& note : nest_.stage(i).pipelines) {
        TW_TRY([[maybe_unused]] Unit fine, check_pipeline(i, note, slides));
      }
    return Unit{};
  }

 private:
  Status check_pipeline(int i, const PipelineNote& note, const std::vector<Slide>& slides) const {
    const StageNest& stage = nest_.stage(i);
    const auto wrong = [&](const std::string& rule, const std::string& way_out) {
      return blame(refuse(Pipeline::kName, rule) << describe(stage, note.axis) << way_out, steps_, note.step);
    };
    const std::string name = stage.axes[note.axis].name;
    if (!placed_.live(i) || placed_.launch[i] == kNone)
      return wrong("axis must be a loop of a device, which " + name + " is not",
                   "bind the loops of the stages at root to blockIdx and threadIdx");
    const int level = stage.position(note.axis);
    if (level == kNone)
      return wrong("axis must be a loop that stands, and " + name + " was split or fused",
                   "pipeline what became of it");
    if (stage.axes[note.axis].annotation != Annotation::kNone)
      return wrong("axis must be a serial loop, and " + name + " is " + to_string(stage.axes[note.axis].annotation),
                   "iterations of a pipeline come one after the other");
    std::string why;
    for (int inner = 0; inner < nest_.size(); ++inner) {
      if (placed_.parent[inner] != i || placed_.level[inner] != level || placed_.scope[inner] != Scope::kShared)
        continue;
      if (slides[inner].kind == SlideKind::kRing || note.stages == 1 || !all_.stages[i].loop[note.axis]) return Unit{};
      why = not_ahead(inner);
    }
    return wrong("a stage in shared memory must be computed in the loop " + name + ", ahead of its iterations" +
                     (why.empty() ? "; none is" : ": " + why),
                 "cache_read(.., \"shared\") and compute_at(.., " + name + ") make one");
  }

  // Why the stage can't be computed ahead of the iteration that it is computed in; empty where it can.
  std::string not_ahead(int i) const {
    const std::string& name = nest_.stage(i).name;
    for (int inner = 0; inner < nest_.size(); ++inner)
      if (inner != i && inside(inner, i) && placed_.together[inner] != Team::kNone)
        return name + " is computed of " + nest_.stage(inner).name + ", for which threads meet";
    for (int source = 0; source < nest_.size(); ++source) {
      if (!placed_.live(source) || source == i || placed_.parent[source] != placed_.parent[i] ||
          placed_.level[source] != placed_.level[i])
        continue;
      for (int reader : placed_.readers[source])
        if (inside(reader, i)) return name + " reads " + nest_.stage(source).name + ", which is computed there too";
    }
    return "";
  }

  // Of a stage in a launch.
  Result<Slide> ring(int i) const {
    const StageNest& stage = nest_.stage(i);
    const bool shared = placed_.parent[i] != kNone && placed_.scope[i] == Scope::kShared;
    if (stage.double_buffered != kNone && !shared)
      return blame(refuse(DoubleBuffer::kName,
                          "a stage must be in shared memory to be double buffered in a launch, "
                          "and " +
                              stage.name + " is not")
                       << describe(stage) << "registers need no second buffer: a device computes ahead of itself",
                   steps_, stage.double_buffered);
    if (!shared) return Slide{};
    const StageNest& host = nest_.stage(placed_.parent[i]);
    const AxisId leaf = host.leaves[placed_.level[i]];
    const auto note = std::ranges::find(host.pipelines, leaf, &PipelineNote::axis);
    const bool in_pipeline = note != host.pipelines.end() && note->stages > 1;
    if (!in_pipeline && stage.double_buffered == kNone) return Slide{};
    const std::string why = not_ahead(i);
    const std::string asked = in_pipeline ? Pipeline::kName : DoubleBuffer::kName;
    const int step = in_pipeline ? note->step : stage.double_buffered;
    const bool by_copy = in_pipeline && note->by == ir::Arrival::kByCopy;
    const bool by_boxes = in_pipeline && note->by == kByBoxes;
    const std::string way = by_boxes ? "tma" : "cp.async";
    if (!why.empty() && !by_copy && !by_boxes && stage.double_buffered == kNone) return Slide{};
    if (!why.empty())
      return blame(refuse(asked, "what " + stage.name + " reads must be there before the loop; " + why)
                       << "compute_at a loop further out",
                   steps_, step);
    TW_TRY([[maybe_unused]] Unit plain, check_loops_around(i, asked, step));
    if ((by_copy || by_boxes) && stage.is_reduction())
      return blame(refuse(asked, "what arrives by " + way + " must be a copy, and " + stage.name + " is a sum")
                       << describe(stage) << "by=\"auto\" computes it where it has to",
                   steps_, step);
    const bool by_anything = in_pipeline && note->by == ir::Arrival::kLater;
    const bool can_be_boxes = by_anything && is_group_operand(nest_, placed_, i) && !stage.is_reduction() &&
                              is_always_box(nest_, placed_, all_, i);  // devices with such products have both
    if (const auto no = by_boxes ? no_box(nest_, placed_, all_, i) : std::nullopt)
      return blame(refuse(asked, "what arrives by tma must be a box of a tensor, and " + stage.name + " is none")
                       << no->why << no->way_out,
                   steps_, step);
    const StageBounds& around = all_.stages[placed_.parent[i]];
    if (!around.loop[leaf]) return Slide{};  // one iteration
    Slide slide{SlideKind::kRing, around.loop[leaf], around.extent[leaf].expr()};
    slide.slots = in_pipeline ? note->stages : 2;
    slide.boxes = by_boxes || can_be_boxes;
    const bool packed = std::ranges::any_of(stage.buffers, [](const auto& b) { return b.element().is_packed(); });
    const ir::Arrival by = in_pipeline ? note->by : ir::Arrival::kLater;
    slide.arrival = stage.is_reduction() || packed ? ir::Arrival::kNow : slide.boxes ? kByBoxes : by;
    over_tiles(i, slide);
    return slide;
  }

  // Where each tile of a block has the loop once, the ring runs on from one to the next.
  void over_tiles(int i, Slide& slide) const {
    const int root = placed_.launch[i];
    const PersistentNote& note = nest_.stage(root).persistent;
    if (note.tiles == kNone || ir::as_int(slide.trips).value_or(0) < 1) return;
    const StageBounds& bounds = all_.stages[root];
    const ir::Var& tiles = bounds.loop[note.tiles];
    bool found = false;
    for (int at = i; placed_.parent[at] != kNone; at = placed_.parent[at]) {
      const int parent = placed_.parent[at];
      const StageNest& host = nest_.stage(parent);
      for (int position = 0; position < placed_.level[at] + (at == i ? 0 : 1); ++position) {
        const AxisId leaf = host.leaves[position];
        if (!all_.stages[parent].loop[leaf] || is_bound(host.axes[leaf].annotation)) continue;
        if (parent != root || leaf != note.tiles) return;
        found = true;
      }
    }
    if (!found || reads_of_tile(i, root, note.tiles)) return;
    slide.tiles = tiles;
    slide.turns = ir::simplify(tiles_of_block(nest_.stage(root), bounds) * slide.trips, all_.ranges);
  }

  // Whether the stage reads what is computed in each tile anew, which is not there before the first.
  bool reads_of_tile(int i, int root, AxisId tiles) const {
    const int loop = nest_.stage(root).position(tiles);
    for (int source = 0; source < nest_.size(); ++source) {
      if (!placed_.live(source) || source == i || inside(source, i)) continue;
      int at = source;
      while (placed_.parent[at] != kNone && placed_.parent[at] != root) at = placed_.parent[at];
      if (placed_.parent[at] == kNone || placed_.level[at] < loop) continue;
      for (int reader : placed_.readers[source])
        if (reader == i || inside(reader, i)) return true;
    }
    return false;
  }

  // A scan inside a loop of another stage.
  Result<Slide> continued(int i) const {
    const StageBounds &bounds = all_.stages[i], &around = all_.stages[placed_.parent[i]];
    if (ir::is_int(bounds.lo[0], 0)) return Slide{};  // from the first time on, in each iteration
    const StageNest &stage = nest_.stage(i), &parent = nest_.stage(placed_.parent[i]);
    TW_TRY([[maybe_unused]] Unit plain, check_loops_around(i, ComputeAt::kName, stage.attach.step));
    const AxisId leaf = parent.leaves[placed_.level[i]];
    const auto wrong = [&](const std::string& rule) {
      return blame(refuse(ComputeAt::kName, rule)
                       << describe(parent, leaf) << "its times there begin at " + ir::to_string(bounds.lo[0])
                       << "compute it at a loop around all times, or at root",
                   steps_, stage.attach.step);
    };
    if (!around.loop[leaf]) return wrong("the scan " + stage.name + " must be computed from the first time on");
    Slide slide{SlideKind::kRolling, around.loop[leaf], around.extent[leaf].expr(), 0, 0, 0};
    slide.step = motion_of(i, 0, slide.loop).value_or(0);
    slide.extent = bounds.extent[0].value_or(0);
    const ir::Expr first = ir::substitute(bounds.lo[0], {{slide.loop.id(), 0}});
    if (!ir::is_int(ir::simplify(first, all_.ranges), 0) || slide.step < 1 || slide.step > slide.extent)
      return wrong("the loop " + slide.loop.name() + " must go along the times of the scan " + stage.name +
                   " from the first one on, without gaps");
    for (int d = 1; d < stage.data_rank; ++d)
      if (motion_of(i, d, slide.loop) != 0)
        return wrong("the loop " + slide.loop.name() + " must go along the times of the scan " + stage.name + " only");
    const std::optional<int64_t> back = times_back(i);
    if (!back || *back >= slide.extent)
      return wrong("the updates of " + stage.name + " must read states fewer than " + std::to_string(slide.extent) +
                   " times back, which is how many one iteration of " + slide.loop.name() + " keeps");
    return slide;
  }

  // How far back the updates read, where that is the same at all times.
  std::optional<int64_t> times_back(int scan) const {
    int64_t most = 0;
    for (int i = 0; i < nest_.size(); ++i) {
      if (i != scan && placed_.scan[i] != scan) continue;  // the scan itself reads them where its update is inlined
      for (const Read& read : placed_.reads[i]) {
        if (read.source != scan) continue;
        const auto back = ir::as_int(
            ir::simplify(ir::Expr(nest_.stage(i).axes[0].var) - ir::as<ir::Load>(read.load)->at[0], all_.ranges));
        if (!back) return std::nullopt;
        most = std::max(most, *back);
      }
    }
    return most;
  }

  // The loop itself and those around it run one iteration after the other, whole.
  Status check_loops_around(int i, const std::string& name, int step) const {
    for (int at = i; placed_.parent[at] != kNone; at = placed_.parent[at]) {
      const StageNest& parent = nest_.stage(placed_.parent[at]);
      for (int position = 0; position <= placed_.level[at]; ++position) {
        const Axis& axis = parent.axes[parent.leaves[position]];
        bool own = at == i && position == placed_.level[i];
        bool together = runs_concurrently(axis.annotation) || axis.annotation == Annotation::kVirtual;
        if (axis.annotation == Annotation::kVectorized || (own && together))
          return blame(refuse(name, "the loop in which " + nest_.stage(i).name + " is computed must be serial; " +
                                        axis.name + " is " + to_string(axis.annotation))
                           << describe(parent, parent.leaves[position])
                           << "each iteration finds what the one before it left",
                       steps_, std::max(step, axis.annotated_by));
      }
    }
    return Unit{};
  }

  bool inside(int reader, int stage) const {
    for (; reader != kNone; reader = placed_.parent[reader])
      if (reader == stage) return true;
    return false;
  }

  Status check_sources(int i, int step) const {
    if (int scan = placed_.scan[i]; scan != kNone && placed_.parent[i] == scan && placed_.level[i] == 0)
      return blame(refuse(DoubleBuffer::kName, "what " + nest_.stage(i).name +
                                                   " reads must be there before the loop; it depends on the state of " +
                                                   nest_.stage(scan).name + ", which each time makes for the next")
                       << describe(nest_.stage(scan), 0) << "compute_at a loop inside of the time loop",
                   steps_, step);
    for (int source = 0; source < nest_.size(); ++source) {
      if (!placed_.live(source) || source == i || placed_.parent[source] != placed_.parent[i] ||
          placed_.level[source] != placed_.level[i])
        continue;
      for (int reader : placed_.readers[source])
        if (inside(reader, i))
          return blame(
              refuse(DoubleBuffer::kName, "what " + nest_.stage(i).name + " reads must be there before the loop; " +
                                              nest_.stage(source).name + " is computed inside it")
                  << "compute " + nest_.stage(source).name + " further out, or inside " + nest_.stage(i).name,
              steps_, step);
    }
    return Unit{};
  }

  // How far the region moves along a dimension in one iteration of the loop, where that is a number.
  std::optional<int64_t> motion_of(int i, int d, const ir::Var& loop) const {
    const ir::Expr& lo = all_.stages[i].lo[d];
    const ir::Expr next = ir::substitute(lo, {{loop.id(), ir::Expr(loop) + ir::Expr(1)}});
    return ir::as_int(ir::simplify(next - lo, all_.ranges));
  }

  Status find_motion(int i, Slide& slide) const {
    const StageNest& stage = nest_.stage(i);
    const StageBounds& bounds = all_.stages[i];
    for (int d = 0; d < stage.data_rank; ++d) {
      const auto motion = motion_of(i, d, slide.loop);
      if (motion == 0) continue;
      if (!motion || *motion < 0 || slide.dim != kNone)
        return blame(refuse(RollingBuffer::kName, "the region of " + stage.name +
                                                      " must move along one dimension, by the same distance in each " +
                                                      "iteration of " + slide.loop.name())
                         << "dimension " + stage.axes[d].name + " begins at " + ir::to_string(bounds.lo[d])
                         << "compute it at the loop over the rows of its reader, before that loop is split or fused",
                     steps_, stage.rolling);
      slide.dim = d;
      slide.step = *motion;
      if (!bounds.extent[d].known())
        return blame(refuse(RollingBuffer::kName, "the region of " + stage.name + " must have a known size along " +
                                                      stage.axes[d].name + ", not " + to_string(bounds.extent[d]))
                         << "each slot is used again after so many steps",
                     steps_, stage.rolling);
      slide.extent = bounds.extent[d].value();
    }
    if (slide.dim != kNone) return Unit{};
    return blame(refuse(RollingBuffer::kName, "the region of " + stage.name + " must move with the loop " +
                                                  slide.loop.name() + ", which it does not")
                     << "compute " + stage.name + " outside of that loop: each iteration reads the same part of it",
                 steps_, stage.rolling);
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const std::vector<Step>& steps_;
};

}  // namespace

bool has_turning_buffer(const StageNest& stage) {
  const bool inside = stage.op->scan() && stage.attach.kind == AttachKind::kAt;
  return stage.rolling != kNone || stage.double_buffered != kNone || inside;
}

bool has_turning_buffer(const LoopNest& nest, int stage) {
  const Attach& attach = nest.stage(stage).attach;
  const int host = attach.kind == AttachKind::kAt ? nest.find_stage(attach.stage) : kNone;
  return has_turning_buffer(nest.stage(stage)) || (host != kNone && !nest.stage(host).pipelines.empty());
}

bool has_slides(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (has_turning_buffer(nest.stage(i)) || !nest.stage(i).pipelines.empty() || nest.stage(i).roles.step != kNone ||
        nest.stage(i).cluster.axis != kNone)
      return true;
  return false;
}

ir::Substitution Slide::in_turn(const ir::Expr& of) const {
  if (!tiles) return {{loop.id(), of}};
  return {{loop.id(), ir::floormod(of, trips)}, {tiles.id(), ir::floordiv(of, trips)}};
}

Result<std::vector<Slide>> infer_slides(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                                        const std::vector<Step>& steps) {
  Slider slider(nest, placed, all, steps);
  std::vector<Slide> slides;
  for (int i = 0; i < nest.size(); ++i) {
    TW_TRY(Slide slide, slider.infer(i));
    slides.push_back(std::move(slide));
  }
  TW_TRY([[maybe_unused]] Unit fine, slider.check_pipelines(slides));
  TW_TRY([[maybe_unused]] Unit parted, check_roles(nest, placed, all, slides, steps));
  TW_TRY([[maybe_unused]] Unit shared, check_clusters(nest, placed, all, slides, steps));
  return slides;
}

}  // namespace tw::schedule
