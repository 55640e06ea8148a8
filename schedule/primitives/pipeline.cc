//   for ko in 0..n:                    alloc P: [3, ..] shared
//     alloc P: [..] shared             P[0], P[1] = part(0), part(1)             // each a group
//     P = part(ko)             ==>     for ko in 0..n:
//     sync                               wait for part(ko); sync
//     C[..] += f(P)                      if ko + 2 < n: P[(ko + 2) % 3] = part(ko + 2), which is there later
//     sync                               C[..] += f(P[ko % 3])                    // pipeline(ko, 3)
//
// The stages in shared memory that are computed in the loop become rings of `stages` slots: an iteration begins to fill
// the one that will be read `stages` - 1 iterations later. One barrier an iteration is enough: behind it everybody has
// read the slot that is filled next. What has to stand where, is judged with the whole nest (sliding.cc).

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/sliding.h"

namespace tw::schedule::primitives {

namespace {

constexpr int64_t kMostSlots = 8;

struct Way {
  const char* name;
  ir::Arrival arrival;
};
constexpr Way kWays[] = {{"auto", ir::Arrival::kLater},
                         {"ldg", ir::Arrival::kByRegisters},
                         {"cp.async", ir::Arrival::kByCopy},
                         {"tma", kByBoxes}};

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Pipeline& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, free_leaf(nest.stage(stage), step.kName, step.axis));
  TW_TRY(int64_t stages, number(step.kName, "stages", step.stages));
  if (stages > kMostSlots)
    return refuse(step.kName, "stages must be in 1.." + std::to_string(kMostSlots) + ", not " + std::to_string(stages));
  const auto* way = std::ranges::find(kWays, step.by, [](const Way& w) { return std::string(w.name); });
  if (way == std::end(kWays)) {
    std::vector<std::string> names;
    for (const Way& known : kWays) names.emplace_back(known.name);
    return with_hint(refuse(step.kName, "by must be one of " + join(names) + ", not " + step.by), step.by, names);
  }
  LoopNest next = nest;
  std::vector<PipelineNote>& notes = next.edit(stage).pipelines;
  std::erase_if(notes, [&](const PipelineNote& note) { return note.axis == axis; });
  notes.push_back({axis, stages, way->arrival, nest.steps_applied()});
  return next;
}

}  // namespace tw::schedule::primitives
