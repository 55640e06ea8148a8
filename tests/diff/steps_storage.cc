// Proposals that say how the values of a stage are laid out and how long they are kept.
#include <algorithm>

#include "schedule/sliding.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

bool is_box(Stepper& s, const std::string& name) {
  if (!s.attached.contains(name)) return false;
  const auto by_boxes = [](const schedule::PipelineNote& note) { return note.by == schedule::kByBoxes; };
  return std::ranges::any_of(s.stage(s.attached.at(name).stage).pipelines, by_boxes);
}

}  // namespace

// Neither of boxes nor of what they are read from.
void storage_align(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || stage.output || stage.data_rank == 0) return;
  if (stage.swizzled != 0 || (s.plain.contains(name) && !stage.is_reduction())) return;  // copies of whole rows
  const auto reads_it = [&](const std::string& reader) { return is_box(s, reader); };
  if (is_box(s, name) || std::ranges::any_of(s.direct_readers(name), reads_it)) return;
  const int64_t factor = 1 + s.random().below(40);
  const auto axis = static_cast<size_t>(s.random().below(stage.data_rank));
  s.must(schedule::StorageAlign{name, stage.axes[axis].name, factor, s.random().below(factor)});
}

// The region must move along one dimension with the loop, which it often doesn't.
void rolling_buffer(Stepper& s, const std::string& name) {
  if (s.attached.contains(name)) s.may(schedule::RollingBuffer{name});
}

void double_buffer(Stepper& s, const std::string& name) {
  if (s.attached.contains(name)) s.may(schedule::DoubleBuffer{name});
}

// Not all of a stage may be read: then the elements beyond are left out.
void set_store_predicate(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || stage.data_rank == 0) return;
  const auto axis = static_cast<size_t>(s.random().below(stage.data_rank));
  const int64_t extent = stage.axes[axis].extent.value_or(1);
  const int64_t kept = s.random().chance(50) ? extent : std::max<int64_t>(extent - s.random().below(3), 0);
  s.may(schedule::SetStorePredicate{name, stage.axes[axis].name + " < " + std::to_string(kept)});
}

// Any tensor before the stage: it may be read elsewhere only, or not be kept whole. Or what is written: by this stage,
// or the one in whose loops it is computed.
void prefetch(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  const int at = s.nest().find_stage(name);
  if (stage.is_placeholder() || stage.leaves.empty() || at == 0) return;
  const auto level = s.random().below(static_cast<int64_t>(stage.leaves.size()));
  const auto loop = [&](int64_t i) { return stage.axes[stage.leaves[static_cast<size_t>(i)]].name; };
  const int source = static_cast<int>(s.random().below(at));
  const int64_t offset = s.random().below(4);
  const std::string into = offset == 3 ? "L2" : "";
  schedule::Prefetch step{name, s.nest().stage(source).name, loop(level), offset, "", "", into};
  if (s.attached.contains(name) && s.random().chance(30)) {
    step.of = s.attached.at(name).stage;
    step.from = s.random().pick(s.loop_names(step.of));
  } else if (s.random().chance(50)) {
    step.from = loop(s.random().below(level + 1));
  }
  if (s.random().chance(25)) step.source = step.of.empty() ? name : step.of;
  s.may(step);
}

// It may be a reduction, or read elsewhere.
void nontemporal(Stepper& s, const std::string& name) {
  if (s.stage(name).output) s.may(schedule::Nontemporal{name});
}

}  // namespace tw::diff
