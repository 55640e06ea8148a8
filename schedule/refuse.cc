// Words of refusals that all primitives share.
#include "schedule/refuse.h"

#include <algorithm>

#include "src/support/nearest.h"

namespace tw::schedule {

Diagnostic refuse(const std::string& step, const std::string& rule) {
  Diagnostic d;
  d.kind = ErrorKind::kSchedule;
  d.what = step + ": " + rule;
  return d;
}

namespace {

std::string range(const Axis& axis) {
  return (axis.reduction ? "reduction over " : "") + to_string(axis.min) + ".." + to_string(axis.min + axis.extent);
}

std::vector<std::string> leaf_names(const StageNest& stage) {
  std::vector<std::string> names;
  for (AxisId leaf : stage.leaves) names.push_back(stage.axes[leaf].name);
  return names;
}

std::string what_became_of(const StageNest& stage, AxisId axis) {
  const Relation* relation = stage.relation_from(axis);
  if (const auto* split = std::get_if<SplitRelation>(relation))
    return "was split into " + stage.axes[split->outer].name + " and " + stage.axes[split->inner].name;
  return "was fused into " + stage.axes[std::get<FuseRelation>(*relation).fused].name;
}

}  // namespace

std::string describe(const StageNest& stage, AxisId axis) {
  return "stage " + stage.name + ", axis " + stage.axes[axis].name + " (" + range(stage.axes[axis]) + ")";
}

std::string describe(const StageNest& stage) {
  std::vector<std::string> loops;
  for (AxisId leaf : stage.leaves) loops.push_back(stage.axes[leaf].name + " " + range(stage.axes[leaf]));
  return "stage " + stage.name + (loops.empty() ? " (no loops)" : " (" + join(loops) + ")");
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? separator : "") + parts[i];
  return text;
}

Diagnostic with_hint(Diagnostic d, const std::string& wanted, const std::vector<std::string>& names) {
  std::string hint = support::did_you_mean(wanted, names);
  if (!hint.empty()) d.notes.push_back(hint);
  return d;
}

Result<int> any_stage(const LoopNest& nest, const char* step, const std::string& name) {
  int found = nest.find_stage(name);
  if (found != kNone) return found;
  std::vector<std::string> names;
  for (int i = 0; i < nest.size(); ++i) names.push_back(nest.stage(i).name);
  std::vector<std::string> shown(names.begin(), names.begin() + std::min<size_t>(names.size(), 12));
  if (shown.size() < names.size()) shown.push_back("...");
  return with_hint(refuse(step, "stage must be one of this schedule, not " + name) << "its stages are " + join(shown),
                   name, names);
}

Result<int> computed_stage(const LoopNest& nest, const char* step, const std::string& name) {
  TW_TRY(int found, any_stage(nest, step, name));
  if (nest.stage(found).is_placeholder())
    return refuse(step, "stage must be one that is computed, not the placeholder " + name)
           << "a placeholder has no loops; cache_read makes a stage that copies it";
  return found;
}

Result<AxisId> leaf(const StageNest& stage, const char* step, const std::string& axis) {
  AxisId found = stage.find_axis(axis);
  if (found == kNone)
    return with_hint(refuse(step, "axis must be a loop of stage " + stage.name + ", not " + axis) << describe(stage),
                     axis, leaf_names(stage));
  if (stage.position(found) == kNone)
    return refuse(step, "axis must be a loop of stage " + stage.name + ", not " + axis + ", which " +
                            what_became_of(stage, found))
           << describe(stage);
  return found;
}

Result<AxisId> free_leaf(const StageNest& stage, const char* step, const std::string& axis) {
  TW_TRY(AxisId found, leaf(stage, step, axis));
  if (stage.op->scan() && found == 0)
    return refuse(step, "axis must not be the time of a scan, as " + axis + " of " + stage.name + " is")
           << describe(stage, found)
           << "each time needs the ones before it: time stays the outermost loop, serial and whole";
  return found;
}

Status not_bound(const StageNest& stage, const char* step, AxisId axis) {
  const Annotation annotation = stage.axes[axis].annotation;
  if (!is_bound(annotation) && annotation != Annotation::kVirtual) return Unit{};
  return refuse(step, "axis must not be bound, as " + stage.axes[axis].name + " is to " + to_string(annotation))
         << describe(stage, axis) << "split it before, and bind one part";
}

Status plain(const StageNest& stage, const char* step, AxisId axis, const char* note) {
  const Annotation annotation = stage.axes[axis].annotation;
  if (annotation == Annotation::kNone) return Unit{};
  const char* article = annotation == Annotation::kUnrolled ? "an " : "a ";
  return refuse(step, std::string("axis must be a plain loop, not ") + article + to_string(annotation) + " one")
         << describe(stage, axis) << note;
}

Result<int64_t> number(const char* step, const char* field, const Factor& factor) {
  constexpr int64_t kLargest = (int64_t{1} << 31) - 1;
  if (factor.value < 1 && factor.is_reference())
    return refuse(step, std::string(field) + " must have a value, not only the knob " + factor.knob + "[" +
                            std::to_string(factor.part) + "]")
           << "a Step that refers to a knob can be applied once a candidate has filled the knob in";
  if (factor.value < 1)
    return refuse(step, std::string(field) + " must be a positive integer, not " + std::to_string(factor.value));
  if (factor.value > kLargest)
    return refuse(step, std::string(field) + " must be at most " + std::to_string(kLargest) + ", not " +
                            std::to_string(factor.value));
  return factor.value;
}

}  // namespace tw::schedule
