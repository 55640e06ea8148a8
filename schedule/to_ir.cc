// From a schedule and an argument list to the loop program: arguments, then placement, bounds and loops.
#include <algorithm>

#include "schedule/analysis.h"
#include "schedule/check_launch_memory.h"
#include "schedule/emit.h"
#include "schedule/lane_memory.h"
#include "schedule/pad.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"
#include "src/ir/contract.h"
#include "src/ir/shared_byte.h"
#include "src/lower/copies.h"
#include "src/support/deep_stack.h"
#include "te/read_notes.h"

namespace tw::schedule {

namespace {

Diagnostic bad_argument(const std::string& rule) {
  Diagnostic d;
  d.kind = ErrorKind::kArgument;
  d.what = "arguments: " + rule;
  return d;
}

Diagnostic given_twice(const te::Tensor& tensor, size_t i) {
  return bad_argument("every tensor must be given once; " + tensor.name() + " (argument " + std::to_string(i) +
                      ") is there twice");
}

struct BoundArguments {
  std::vector<ir::Param> params;
  std::vector<int> stages;  // of those that the schedule has
  Arguments buffers;
};

ir::Param parameter(const StageNest& stage, const ir::Buffer& buffer) {
  ir::Param param{buffer, !stage.is_placeholder()};
  param.nontemporal = stage.nontemporal != kNone;
  const auto* given = std::get_if<te::Placeholder>(&stage.op->kind);
  if (given) param.range = given->range;
  const std::vector<ir::Expr>& declared = stage.op->shape();
  if (given && stage.layout) param.layout = canonical(*stage.layout, {declared.begin(), declared.end()});
  return param;
}

// A parameter that nothing in the schedule reads.
Status bind_unread(const te::Tensor& given, size_t i, BoundArguments& bound) {
  if (!given.op()->is_placeholder())
    return bad_argument("every tensor that is computed must be part of the schedule; " + given.name() + " (argument " +
                        std::to_string(i) + ") is not")
           << "no output of this schedule depends on it, so nothing would write its array; tvm takes it, and leaves "
              "the "
              "array as it was"
           << "add " + given.name() + " to the outputs of create_schedule, or leave it out of the list";
  for (const ir::Param& param : bound.params)
    if (param.buffer == given.buffer()) return given_twice(given, i);
  ir::BufferNode node = *given.buffer().operator->();
  node.origin = nullptr;
  ir::Param param{ir::Buffer(std::move(node)), false};
  param.range = std::get<te::Placeholder>(given.op()->kind).range;
  bound.params.push_back(std::move(param));
  return Unit{};
}

Result<BoundArguments> bind(const LoopNest& nest, const std::vector<te::Tensor>& args) {
  BoundArguments bound;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) return bad_argument("argument " + std::to_string(i) + " must be a tensor, not an empty handle");
    int stage = nest.find_stage(args[i].op()->buffer_id());
    if (stage == kNone) {
      TW_TRY([[maybe_unused]] Unit taken, bind_unread(args[i], i, bound));
      continue;
    }
    std::vector<ir::Buffer>& given = bound.buffers[stage];
    given.resize(nest.stage(stage).buffers.size());
    if (given[args[i].value_index()]) return given_twice(args[i], i);
    const ir::Buffer& declared = nest.stage(stage).buffers[args[i].value_index()];
    given[args[i].value_index()] = nest.stage(stage).is_placeholder() ? packed_buffer(nest.stage(stage)) : declared;
    bound.params.push_back(parameter(nest.stage(stage), given[args[i].value_index()]));
    bound.stages.push_back(stage);
  }
  return bound;
}

bool at_least(const Extent& a, const Extent& b) { return a == b || (a.known() && b.known() && a.value() >= b.value()); }

// Whether a stage that is computed inside another's loops is computed whole nevertheless: a stage at root reads it once
// per element of its own, with different axes as subscripts. Threads would write what their regions share at the same
// time.
bool covers_all(const LoopNest& nest, const Placement& placed, int stage) {
  int parent = placed.parent[stage];
  if (placed.parent[parent] != kNone) return false;
  const StageNest& reader = nest.stage(parent);
  if (placed.scan[stage] != kNone) return false;
  for (int position = 0; position <= placed.level[stage]; ++position)
    if (runs_concurrently(reader.axes[reader.leaves[position]].annotation)) return false;
  return std::any_of(placed.reads[parent].begin(), placed.reads[parent].end(), [&](const Read& read) {
    const auto& at = ir::as<ir::Load>(read.load)->at;
    std::vector<AxisId> used;
    for (size_t d = 0; read.source == stage && d < at.size(); ++d) {
      const auto* var = ir::as<ir::VarRef>(at[d]);
      AxisId axis = var ? reader.axis_of(var->var) : kNone;
      if (axis == kNone || std::find(used.begin(), used.end(), axis) != used.end()) return false;
      if (!(reader.axes[axis].min == 0) || !at_least(reader.axes[axis].extent, nest.stage(stage).axes[d].extent))
        return false;
      used.push_back(axis);
    }
    if (read.source != stage) return false;
    for (int axis = 0; axis < reader.data_rank + reader.reduce_rank; ++axis)  // a loop that never runs covers nothing
      if (std::find(used.begin(), used.end(), axis) == used.end() && !at_least(reader.axes[axis].extent, 1))
        return false;
    return true;
  });
}

// Everything that the kernel reads is there, and what is given back is computed whole: an output that nobody asks for
// is scratch, an inlined stage that is asked for is computed besides.
Status complete(const LoopNest& nest, const Placement& placed, const BoundArguments& bound) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    bool given = bound.buffers.contains(i);
    if (stage.is_placeholder() && !given && !placed.readers[i].empty())
      return bad_argument("every placeholder that is read must be an argument; " + stage.name + " is missing")
             << stage.name + " is read by " + nest.stage(placed.readers[i][0]).name
             << "add " + stage.name + " to the list";
    if (given && !stage.is_placeholder() && stage.layout)
      return bad_argument("a tensor that is written out must lie as it is declared; transform_layout gave " +
                          stage.name + " another layout")
             << "leave " + stage.name + " out of the list, or transform a cache_read of it";
    const bool whole =
        stage.attach.kind != AttachKind::kAt || (placed.parent[i] != kNone && covers_all(nest, placed, i));
    if (given && !stage.is_placeholder() && !whole)
      return bad_argument("a tensor that is written out must be computed whole; " + stage.name +
                          " is computed inside " + stage.attach.stage)
             << "tvm's kernel writes what " + stage.attach.stage +
                    " reads of it, and leaves the rest of the array as it was"
             << "leave " + stage.name + " out of the list, or compute_root it";
  }
  return Unit{};
}

// The scalars of the kernel; the tensors that it computes need values for all that they use.
Status bind_scalars(ir::Program& program, const Schedule& schedule, const std::vector<te::Tensor>& args,
                    const std::vector<te::ScalarArgument>& scalars) {
  std::vector<te::Tensor> roots = schedule.outputs();
  roots.insert(roots.end(), args.begin(), args.end());
  try {
    te::bind_scalars(program, roots, scalars);
    te::add_requirements(program, roots);
    return Unit{};
  } catch (const Error& e) {
    return e.diagnostic();
  }
}

// Those that have values when the kernel runs.
std::vector<ir::Var> given_scalars(const std::vector<te::Tensor>& args,
                                   const std::vector<te::ScalarArgument>& scalars) {
  std::vector<ir::Var> given;
  for (const te::ScalarArgument& scalar : scalars) given.push_back(scalar.var);
  for (const te::Tensor& arg : args) {
    if (!arg) continue;
    for (const ir::Expr& extent : arg.shape())
      if (const auto* v = ir::as<ir::VarRef>(extent)) given.push_back(v->var);
  }
  return given;
}

// A program that breaks the contract of bounds inference is a bug of ours.
void keeps_contract(const LoopNest& nest, const ir::Program& program) {
  bool whole = true;
  for (int i = 0; i < nest.size(); ++i) whole = whole && !nest.stage(i).store_predicate;
  const auto form = whole ? ir::ProgramForm::kScheduled : ir::ProgramForm::kLowered;
  const Status kept = ir::check_contract(program, form, changing_buffers(nest));
  TW_CHECK(kept.ok(), "bounds inference: " + kept.error().render() + ir::to_string(program));
}

// Iterations of a parallel loop that store to one byte would change it at the same time.
Status whole_bytes(const LoopNest& nest, const ir::Program& program, const std::vector<Step>& steps) {
  const std::optional<ir::SharedByte> shared = ir::shared_byte(program);
  if (!shared) return Unit{};
  Diagnostic d =
      refuse("parallel", "each iteration of " + shared->loop.name() + " must store whole bytes of " +
                             shared->buffer.name() + ", whose elements are " + ir::to_string(shared->buffer.element()) +
                             ": two share a byte")
      << "the element that is stored: " + ir::to_string(shared->at)
      << "each iteration must begin at an even element, and store an even number of neighbours"
      << "split the last axis by an even factor, make its extent even, or leave " + shared->loop.name() + " serial";
  for (int i = 0; i < nest.size(); ++i)
    for (const Axis& axis : nest.stage(i).axes) {
      std::string name = axis.name;  // as the loop has it
      std::replace(name.begin(), name.end(), '*', '_');
      if (runs_concurrently(axis.annotation) && name == shared->loop.name())
        return blame(std::move(d), steps, axis.annotated_by);
    }
  return d;
}

// What must arrive by cp.async, where the device has such a copy.
Status copies_as_asked(const LoopNest& nest, const ir::Program& program, const std::vector<Step>& steps) {
  const std::optional<lower::NoCopy> refused = lower::refused_copy(program, Target::host());
  if (!refused) return Unit{};
  Diagnostic d = refuse(Pipeline::kName, "what arrives by cp.async must be a copy that a device has, and that to " +
                                             refused->buffer + " is none")
                 << refused->why << "by=\"auto\" takes registers where it has to";
  for (int i = 0; i < nest.size(); ++i)
    for (const PipelineNote& note : nest.stage(i).pipelines)
      if (note.by == ir::Arrival::kByCopy) return blame(std::move(d), steps, note.step);
  return d;
}

Result<ir::Program> derive(const Schedule& schedule, const std::vector<te::Tensor>& args, std::string name,
                           const std::vector<te::ScalarArgument>& scalars) {
  TW_TRY(const LoopNest nest, over_scalars(schedule, given_scalars(args, scalars)));
  TW_TRY(BoundArguments bound, bind(nest, args));
  TW_TRY(Placement placed, place(nest, schedule.steps(), bound.stages));
  TW_TRY([[maybe_unused]] Unit all, complete(nest, placed, bound));
  Analysis known(nest, schedule.steps(), std::move(placed));
  TW_TRY([[maybe_unused]] Unit legal, known.judge(bound.stages, bound.buffers));
  ir::Program program{
      std::move(name), std::move(bound.params),
      emit(nest, known.placed(), known.bounds(), known.slides(), known.layouts(), bound.buffers, known.intrins())};
  TW_TRY([[maybe_unused]] Unit fits, check_launch_memory(program.body, schedule.steps()));
  TW_TRY(program.body, kept_by_lanes(program.body, nest, known.intrins(), schedule.steps()));
  TW_TRY([[maybe_unused]] Unit given, bind_scalars(program, schedule, args, scalars));
  TW_TRY([[maybe_unused]] Unit sized, add_size_requirements(program, nest, schedule.steps()));
  TW_TRY([[maybe_unused]] Unit bytes, whole_bytes(nest, program, schedule.steps()));
  TW_TRY([[maybe_unused]] Unit copied, copies_as_asked(nest, program, schedule.steps()));
  if (ir::verifies()) keeps_contract(nest, program);
  return program;
}

}  // namespace

Result<ir::Program> to_ir(const Schedule& schedule, const std::vector<te::Tensor>& args, std::string name,
                          const std::vector<te::ScalarArgument>& scalars) {
  return support::with_deep_stack([&] { return derive(schedule, args, std::move(name), scalars); });
}

}  // namespace tw::schedule
