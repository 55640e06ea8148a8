// What rolling_buffer and double_buffer ask of the nest.
#include "schedule/sliding.h"

#include <algorithm>

#include "schedule/refuse.h"
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
      TW_TRY([[maybe_unused]] Unit ready, check_sources(i, step));
      return slide;
    }
    slide.kind = SlideKind::kRolling;
    TW_TRY([[maybe_unused]] Unit moved, find_motion(i, slide));
    return slide.step < slide.extent ? slide : Slide{};  // else nothing of the region is read again
  }

 private:
  // The loop itself and those around it run one iteration after the other, whole.
  Status check_loops_around(int i, const std::string& name, int step) const {
    for (int at = i; placed_.parent[at] != kNone; at = placed_.parent[at]) {
      const StageNest& parent = nest_.stage(placed_.parent[at]);
      for (int position = 0; position <= placed_.level[at]; ++position) {
        const Axis& axis = parent.axes[parent.leaves[position]];
        bool own = at == i && position == placed_.level[i];
        if (axis.annotation == Annotation::kVectorized || (own && axis.annotation == Annotation::kParallel))
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

  Status find_motion(int i, Slide& slide) const {
    const StageNest& stage = nest_.stage(i);
    const StageBounds& bounds = all_.stages[i];
    const ir::Substitution next{{slide.loop.id(), ir::Expr(slide.loop) + ir::Expr(1)}};
    for (int d = 0; d < stage.data_rank; ++d) {
      auto motion = ir::as_int(ir::simplify(ir::substitute(bounds.lo[d], next) - bounds.lo[d], all_.ranges));
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

bool has_slides(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).rolling != kNone || nest.stage(i).double_buffered != kNone) return true;
  return false;
}

Result<std::vector<Slide>> infer_slides(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                                        const std::vector<Step>& steps) {
  Slider slider(nest, placed, all, steps);
  std::vector<Slide> slides;
  for (int i = 0; i < nest.size(); ++i) {
    TW_TRY(Slide slide, slider.infer(i));
    slides.push_back(std::move(slide));
  }
  return slides;
}

}  // namespace tw::schedule
