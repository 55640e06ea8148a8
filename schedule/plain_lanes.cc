// Choices of the lowered program, brought back to stages and leaves by the names of buffers and loops.
#include "schedule/plain_lanes.h"

#include <algorithm>

#include "schedule/loop_nest.h"
#include "schedule/storage.h"
#include "src/lower/lanes.h"
#include "src/lower/rows.h"

namespace tw::schedule {

namespace {

std::vector<te::Tensor> arguments(const LoopNest& nest) {
  std::vector<te::Tensor> all;
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (!stage.is_placeholder() && !stage.output) continue;
    for (size_t value = 0; value < stage.buffers.size(); ++value) all.emplace_back(stage.op, value);
  }
  return all;
}

bool writes(const lower::LaneChoice& choice, const StageNest& stage) {
  return std::any_of(choice.written.begin(), choice.written.end(), [&](const ir::Buffer& b) {
    return b.name() == stage.buffer().name() || b.name() == buffer_name(stage, 0);
  });
}

std::string loop_name(const Axis& axis) {
  std::string name = axis.name;
  std::replace(name.begin(), name.end(), '*', '_');
  return name;
}

PlainLanes of_stage(const StageNest& stage, const std::vector<lower::LaneChoice>& choices) {
  PlainLanes out;
  for (AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation == Annotation::kVectorized) return out;
  for (const lower::LaneChoice& choice : choices) {
    if (!writes(choice, stage)) continue;
    if (choice.elements == 0) {
      if (out.leaf < 0) out.reason = choice.reason;
      continue;
    }
    for (size_t position = 0; position < stage.leaves.size(); ++position)
      if (loop_name(stage.axes[stage.leaves[position]]) == choice.loop.name())
        out = {static_cast<int>(position), choice.elements * choice.times};
  }
  return out;
}

}  // namespace

std::vector<PlainLanes> plain_lanes(const Schedule& schedule, const Machine& machine) {
  const LoopNest& nest = schedule.nest();
  std::vector<PlainLanes> out(nest.size());
  const auto program = to_ir(schedule, arguments(nest));
  if (!program.ok()) return out;
  Target target;
  target.abilities.vector_bits = machine.vector_bits;
  target.abilities.vector_registers = machine.vector_registers;
  const auto choices = lower::lane_choices(lower::rows(*program, target), target);
  for (int i = 0; i < nest.size(); ++i) out[i] = of_stage(nest.stage(i), choices);
  return out;
}

}  // namespace tw::schedule
