#include "schedule/unbounded.h"

#include "schedule/analysis.h"
#include "schedule/refuse.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::schedule {

namespace {

bool any_attached(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).attach.kind == AttachKind::kAt) return true;
  return false;
}

std::string place_of(const LoopNest& nest, const Attach& attach) {
  const StageNest& host = nest.stage(nest.find_stage(attach.stage));
  return host.name + "'s loop " + host.axes[attach_leaf(host, attach.axis)].name;
}

std::string reason(const LoopNest& nest, const Unbounded& why) {
  return nest.stage(why.reader).name + "'s subscript " + ir::to_string(why.subscript) +
         (ir::has_load(why.subscript) ? " depends on data" : " has no bound there");
}

}  // namespace

std::vector<std::vector<std::string>> unbounded_notes(const LoopNest& nest, const std::vector<Step>& steps) {
  std::vector<std::vector<std::string>> notes(nest.size());
  if (!any_attached(nest)) return notes;
  const Result<Placement> placed = place(nest, steps);
  if (!placed.ok()) return notes;
  const NestBounds bounds = infer_bounds(nest, *placed);
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    for (const Unbounded& why : bounds.stages[i].unbounded)
      notes[i].push_back("all of " + stage.axes[why.axis].name + " in each iteration of " +
                         place_of(nest, stage.attach) + ": " + reason(nest, why));
  }
  return notes;
}

Status check_strictly(const Schedule& schedule) {
  return support::with_deep_stack([&]() -> Status {
    const LoopNest& nest = schedule.nest();
    TW_TRY(Placement placed, place(nest, schedule.steps()));
    Analysis known(nest, schedule.steps(), std::move(placed));
    TW_TRY([[maybe_unused]] Unit legal, known.judge());
    const NestBounds& bounds = known.bounds();
    for (int i = 0; i < nest.size(); ++i) {
      const StageNest& stage = nest.stage(i);
      for (const Unbounded& why : bounds.stages[i].unbounded)
        return blame(refuse(ComputeAt::kName, "what an iteration of " + place_of(nest, stage.attach) + " reads of " +
                                                  stage.name + " must have a bound along " + stage.axes[why.axis].name)
                         << describe(stage, why.axis) << reason(nest, why) + ", so each iteration computes all of it"
                         << "compute " + stage.name + " further out, or at root; check() without strict allows it",
                     schedule.steps(), stage.attach.step);
    }
    return Unit{};
  });
}

}  // namespace tw::schedule
