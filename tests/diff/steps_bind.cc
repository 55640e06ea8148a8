// Proposals that put a schedule on a device: what each stage binds, and whose memory keeps it. A launch is legal as a
// whole or not at all, so the Steps of all stages are made together.
#include <algorithm>

#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

constexpr int64_t kMostThreads = 24;  // the interpreter runs them one by one
constexpr int64_t kMostVirtual = 6;   // each is written out
constexpr const char* kBlocks[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
constexpr const char* kThreads[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

// Binds some of the loops that are free, each to another index; of a stage inside of a launch to threads only.
int bind_loops(Stepper& s, const std::string& name, int percent, bool at_root) {
  const StageNest& stage = s.stage(name);
  std::vector<std::string> blocks(std::begin(kBlocks), std::end(kBlocks)),
      threads(std::begin(kThreads), std::end(kThreads));
  int bound = 0;
  for (AxisId leaf : stage.leaves) {
    const Axis& axis = stage.axes[leaf];
    if (axis.annotation == Annotation::kVectorized) break;
    if (axis.annotation != Annotation::kNone || !s.random().chance(percent)) continue;
    const bool side_by_side = axis.extent.known() && axis.extent.value() <= kMostVirtual && !axis.reduction;
    if (side_by_side && s.random().chance(20)) {
      s.launch.push_back(Bind{name, axis.name, "vthread"});
      s.count("virtual threads");
      continue;
    }
    const bool few = axis.extent.known() && axis.extent.value() <= kMostThreads;
    const bool thread = few && (axis.reduction || !at_root || s.random().chance(60));
    if (!thread && (axis.reduction || !at_root)) continue;
    std::vector<std::string>& left = thread ? threads : blocks;
    if (left.empty()) continue;
    const std::string index = s.random().chance(60) ? left.front() : s.random().pick(left);
    std::erase(left, index);
    s.launch.push_back(Bind{name, axis.name, index});
    if (axis.reduction) s.count("sum across threads");
    ++bound;
  }
  return bound;
}

void bind_stage(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || multiply_in_groups(s, name) || multiply_in_warps(s, name) || keep_in_lanes(s, name) ||
      sum_in_lanes(s, name))
    return;
  if (!s.attached.contains(name)) {
    if (stage.scope && !stage.output) s.launch.push_back(SetScope{name, ir::Scope::kGlobal});
    if (bind_loops(s, name, 60, true) > 0) return;
    const auto free = std::ranges::find_if(stage.leaves, [&](AxisId leaf) {
      return stage.axes[leaf].annotation == Annotation::kNone && !stage.axes[leaf].reduction;
    });
    if (free != stage.leaves.end()) s.launch.push_back(Bind{name, stage.axes[*free].name, "blockIdx.x"});
    return;
  }
  const bool shared = s.random().chance(60);
  if (shared || stage.scope || s.random().chance(50))
    s.launch.push_back(SetScope{name, shared ? ir::Scope::kShared : ir::Scope::kLocal});
  if (s.random().chance(shared ? 35 : 10)) bind_loops(s, name, 50, false);
}

// Few blocks for all that the one loop over blocks is long, so that some have more to do than others.
void share_out(Stepper& s, const std::string& name) {
  std::vector<std::string> blocks;
  for (const Step& step : s.launch)
    if (const auto* bound = std::get_if<Bind>(&step.kind);
        bound != nullptr && bound->stage == name && bound->thread.starts_with("blockIdx"))
      blocks.push_back(bound->axis);
  if (blocks.size() != 1 || !s.random().chance(40)) return;
  s.launch.push_back(schedule::Persistent{name, blocks[0], Factor(1 + s.random().below(5))});
  const StageNest& stage = s.stage(name);
  const AxisId loop = stage.find_axis(blocks[0]);
  if (loop == schedule::kNone) return;  // a Step of the launch makes it
  for (auto& [inner, place] : s.attached)
    if (place.stage == name && place.position >= stage.position(loop)) ++place.position;
}

}  // namespace

void bind(Stepper& s, const std::string& name) {
  bind_stage(s, name);
  if (!s.attached.contains(name)) share_out(s, name);
}

}  // namespace tw::diff
