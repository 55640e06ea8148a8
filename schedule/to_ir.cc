// From a schedule and an argument list to the loop program: arguments, then placement, bounds and loops.
#include <algorithm>

#include "schedule/check.h"
#include "schedule/emit.h"
#include "schedule/refuse.h"
#include "src/support/deep_stack.h"

namespace tw::schedule {

namespace {

Diagnostic bad_argument(const std::string& rule) {
  Diagnostic d;
  d.kind = ErrorKind::kArgument;
  d.what = "arguments: " + rule;
  return d;
}

struct BoundArguments {
  std::vector<ir::Param> params;
  std::vector<int> stages;  // by parameter
  Arguments buffers;
};

Result<BoundArguments> bind(const LoopNest& nest, const std::vector<te::Tensor>& args) {
  BoundArguments bound;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) return bad_argument("argument " + std::to_string(i) + " must be a tensor, not an empty handle");
    int stage = nest.find_stage(args[i].op()->buffer_id());
    if (stage == kNone)
      return bad_argument("every tensor must be part of the schedule; " + args[i].name() + " (argument " +
                          std::to_string(i) + ") is not")
             << "no output of this schedule depends on it";
    std::vector<ir::Buffer>& given = bound.buffers[stage];
    given.resize(nest.stage(stage).buffers.size());
    if (given[args[i].value_index()])
      return bad_argument("every tensor must be given once; " + args[i].name() + " (argument " + std::to_string(i) +
                          ") is there twice");
    given[args[i].value_index()] = nest.stage(stage).buffers[args[i].value_index()];
    bound.params.push_back({given[args[i].value_index()], !nest.stage(stage).is_placeholder()});
    bound.stages.push_back(stage);
  }
  return bound;
}

// Whether a stage that is computed inside another's loops is computed whole nevertheless: a stage at root reads it once
// per element of its own, with different axes as subscripts. Threads would write what their regions share at the same
// time.
bool covers_all(const LoopNest& nest, const Placement& placed, int stage) {
  int parent = placed.parent[stage];
  if (placed.parent[parent] != kNone) return false;
  const StageNest& reader = nest.stage(parent);
  for (int position = 0; position <= placed.level[stage]; ++position)
    if (reader.axes[reader.leaves[position]].annotation == Annotation::kParallel) return false;
  for (int axis = 0; axis < reader.data_rank + reader.reduce_rank; ++axis)
    if (reader.axes[axis].extent == 0) return false;
  return std::any_of(placed.reads[parent].begin(), placed.reads[parent].end(), [&](const Read& read) {
    const auto& at = ir::as<ir::Load>(read.load)->at;
    std::vector<AxisId> used;
    for (size_t d = 0; read.source == stage && d < at.size(); ++d) {
      const auto* var = ir::as<ir::VarRef>(at[d]);
      AxisId axis = var ? reader.axis_of(var->var) : kNone;
      if (axis == kNone || std::find(used.begin(), used.end(), axis) != used.end()) return false;
      if (reader.axes[axis].min != 0 || reader.axes[axis].extent < nest.stage(stage).axes[d].extent) return false;
      used.push_back(axis);
    }
    return read.source == stage;
  });
}

// Everything that the kernel reads or gives back is there, and what is given back is computed whole.
Status complete(const LoopNest& nest, const Placement& placed, const BoundArguments& bound) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    bool given = bound.buffers.contains(i);
    if (stage.output && !given)
      return bad_argument("every output must be an argument; " + stage.name + " is missing")
             << "add " + stage.name + " to the list";
    if (stage.is_placeholder() && !given && !placed.readers[i].empty())
      return bad_argument("every placeholder that is read must be an argument; " + stage.name + " is missing")
             << stage.name + " is read by " + nest.stage(placed.readers[i][0]).name
             << "add " + stage.name + " to the list";
    bool whole = stage.attach.kind == AttachKind::kRoot || (placed.parent[i] != kNone && covers_all(nest, placed, i));
    if (given && !stage.is_placeholder() && !whole)
      return bad_argument(
                 "a tensor that is written out must be computed whole; " + stage.name + " is " +
                 (stage.attach.kind == AttachKind::kInline ? "inlined" : "computed inside " + stage.attach.stage))
             << "leave " + stage.name + " out of the list, or compute_root it";
  }
  return Unit{};
}

Result<ir::Program> derive(const Schedule& schedule, const std::vector<te::Tensor>& args, std::string name) {
  const LoopNest& nest = schedule.nest();
  TW_TRY(BoundArguments bound, bind(nest, args));
  TW_TRY(Placement placed, place(nest, schedule.steps(), bound.stages));
  TW_TRY([[maybe_unused]] Unit all, complete(nest, placed, bound));
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    TW_TRY([[maybe_unused]] Unit fine, check_loops(nest.stage(i), schedule.steps()));
  }
  NestBounds bounds = infer_bounds(nest, placed);
  return ir::Program{std::move(name), std::move(bound.params), emit(nest, placed, bounds, bound.buffers)};
}

}  // namespace

Result<ir::Program> to_ir(const Schedule& schedule, const std::vector<te::Tensor>& args, std::string name) {
  return support::with_deep_stack([&] { return derive(schedule, args, std::move(name)); });
}

}  // namespace tw::schedule
