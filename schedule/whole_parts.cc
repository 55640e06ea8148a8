#include "schedule/whole_parts.h"

#include "schedule/refuse.h"

namespace tw::schedule {

namespace {

constexpr const char* kName = "disable_predication";

// Whether the splits from `first` on leave a rest of a data axis.
bool leaves_rest(const StageNest& stage, size_t first) {
  for (size_t i = first; i < stage.relations.size(); ++i) {
    const auto* split = std::get_if<SplitRelation>(&stage.relations[i]);
    if (split == nullptr || stage.axes[split->parent].reduction) continue;
    const Extent whole = stage.axes[split->outer].extent * stage.axes[split->inner].extent;
    if (!(whole == stage.axes[split->parent].extent)) return true;
  }
  return false;
}

template <class K>
bool padded(Step& step, const std::string& stage) {
  K* split = std::get_if<K>(&step.kind);
  if (split == nullptr || split->stage != stage || split->tail != Tail::kAuto) return false;
  split->tail = Tail::kPad;
  return true;
}

}  // namespace

Result<Schedule> in_whole_parts(const Schedule& schedule, const std::string& name) {
  TW_TRY(const int computed, computed_stage(schedule.nest(), kName, name));
  const StageNest& stage = schedule.nest().stage(computed);
  if (stage.output)
    return refuse(kName, "stage must not be an output, as " + name + " is")
           << "without conditions it would be written past its end, in the caller's memory"
           << "s.cache_write and the copy's stage without them, or split(..., tail=\"shift_inward\")";
  Schedule made(schedule.outputs());
  for (const Step& step : schedule.steps()) {
    Step whole = step;
    const int before = made.nest().find_stage(name);
    const size_t relations = before == kNone ? 0 : made.nest().stage(before).relations.size();
    Schedule next = made;
    if (const Status applied = next.try_apply(step); !applied.ok()) return applied.error();
    if ((padded<Split>(whole, name) || padded<Tile>(whole, name)) &&
        leaves_rest(next.nest().stage(next.nest().find_stage(name)), relations)) {
      next = made;
      if (const Status applied = next.try_apply(whole); !applied.ok())
        return Diagnostic(applied.error()) << kName + std::string(": ") + name + " must be computed in whole parts";
    }
    made = std::move(next);
  }
  return made;
}

}  // namespace tw::schedule
