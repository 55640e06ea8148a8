// Proposals of what lanes of a warp keep: the last axis of a stage at root becomes lanes, with what it reads of an
// input; and of sums whose terms they share.
#include <algorithm>

#include "tests/diff/sample_steps.h"

namespace tw::diff {

bool keep_in_lanes(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (s.attached.contains(name) || stage.op->scan() || stage.op->external() || stage.data_rank == 0) return false;
  if (static_cast<int>(stage.leaves.size()) != stage.data_rank + stage.reduce_rank || !s.random().chance(20))
    return false;
  for (const AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation != Annotation::kNone) return false;
  if (stage.op->inputs.empty()) return false;
  const te::Tensor& input = s.random().pick(stage.op->inputs);
  const int source = s.nest().find_stage(input.name());
  const std::string copy = input.name() + ".warp";
  if (source == schedule::kNone || !s.nest().stage(source).is_placeholder() || input.shape().empty() ||
      s.nest().find_stage(copy) != schedule::kNone)
    return false;
  const std::string& axis = stage.axes[static_cast<size_t>(stage.data_rank) - 1].name;
  const std::string own = "ax" + std::to_string(input.shape().size() - 1);
  s.launch.push_back(CacheRead{input.name(), ir::Scope::kWarp, {name}});
  s.launch.push_back(Split{name, axis, Factor(32), {}, Tail::kAuto});
  s.launch.push_back(Bind{name, axis + ".o", "blockIdx.x"});
  s.launch.push_back(Bind{name, axis + ".i", "threadIdx.x"});
  s.launch.push_back(ComputeAt{copy, name, axis + ".o"});
  s.launch.push_back(Split{copy, own, Factor(32), {}, Tail::kAuto});
  s.launch.push_back(Bind{copy, own + ".i", "threadIdx.x"});
  s.plain.insert(copy);
  s.count("memory of a warp");
  return true;
}

bool sum_in_lanes(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.op->scan() || stage.op->external() || stage.reduce_rank == 0 || !s.random().chance(25)) return false;
  if (static_cast<int>(stage.leaves.size()) != stage.data_rank + stage.reduce_rank) return false;
  for (const AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation != Annotation::kNone) return false;
  const bool attached = s.attached.contains(name);
  if (!attached && stage.data_rank == 0) return false;
  const std::string& terms = stage.axes[static_cast<size_t>(stage.data_rank + stage.reduce_rank) - 1].name;
  if (attached) s.launch.push_back(SetScope{name, s.random().chance(60) ? ir::Scope::kLocal : ir::Scope::kShared});
  if (!attached && stage.scope && !stage.output) s.launch.push_back(SetScope{name, ir::Scope::kGlobal});
  if (!attached) s.launch.push_back(Bind{name, stage.axes[0].name, "blockIdx.x"});
  s.launch.push_back(Split{name, terms, Factor(s.random().chance(70) ? 32 : 64), {}, Tail::kAuto});
  s.launch.push_back(Bind{name, terms + ".i", "threadIdx.x"});
  s.count("sum in a warp");
  return true;
}

}  // namespace tw::diff
