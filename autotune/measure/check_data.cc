// Random inputs, expected outputs, and the proof that these are right.
#include "autotune/measure/check_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "autotune/space/knobs.h"
#include "schedule/nest_view.h"
#include "src/ir/interp.h"
#include "src/ir/interp_value.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/runtime/arguments.h"
#include "src/runtime/compare.h"
#include "src/runtime/inputs.h"
#include "src/support/rng.h"

namespace tw::autotune {

using runtime::ArgSpec;

namespace {

constexpr int kProbes = 8;

bool chooses(ir::ReduceOp op) { return op == ir::ReduceOp::kMin || op == ir::ReduceOp::kMax; }
bool chooses(ir::BinOp op) { return op == ir::BinOp::kMin || op == ir::BinOp::kMax; }

// Terms of one sum of the stage; 1 where it sums nothing.
double reduction_length(const te::Operation& op) {
  const te::Compute* compute = op->compute();
  const auto* reduce = compute ? ir::as<ir::Reduce>(compute->body()) : nullptr;
  double length = 1;
  if (reduce == nullptr || chooses(reduce->op)) return length;
  for (const te::IterVar& axis : compute->reduce_axis)
    length *= static_cast<double>(ir::as_int(axis.extent).value_or(1));
  return length;
}

bool is_exact(ir::Fn fn) {
  switch (fn) {
    case ir::Fn::kAbs:
    case ir::Fn::kFloor:
    case ir::Fn::kCeil:
    case ir::Fn::kRound:
    case ir::Fn::kTrunc:
    case ir::Fn::kReinterpret:
      return true;
    default:
      return false;
  }
}

bool rounds(const ir::Expr& e) {
  if (!e.type().is_float() && !e.type().is_float8()) return false;
  const auto* binary = ir::as<ir::Binary>(e);
  const auto* reduce = ir::as<ir::Reduce>(e);
  const auto* call = ir::as<ir::Call>(e);
  return (binary && !chooses(binary->op)) || (reduce && !chooses(reduce->op)) || (call && !is_exact(call->fn)) ||
         ir::as<ir::Cast>(e);
}

// Where the least change of its operand may be one of a whole number.
bool steps(const ir::Expr& e) {
  const auto* call = ir::as<ir::Call>(e);
  const auto* cast = ir::as<ir::Cast>(e);
  return (call && call->args.at(0).type().is_float() && is_exact(call->fn) && call->fn != ir::Fn::kAbs) ||
         (cast && e.type().is_integer() && cast->value.type().is_float());
}

// The stage's own type, of integers that in which what they come of is rounded; none where the stage does not round:
// copies and choices do not, the largest of several among them.
std::optional<ir::Type> rounding_type(const te::Operation& op) {
  if (op->is_placeholder()) return std::nullopt;
  const te::Compute* compute = op->compute();
  if (compute == nullptr) return op->dtype();
  std::optional<ir::Type> found;
  for (const ir::Expr& body : compute->bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      if (!found && rounds(e)) found = e.type();
      return !found;
    });
  const bool own = op->dtype().is_float() || op->dtype().is_float8();
  return found && own ? op->dtype() : found;
}

bool steps(const te::Operation& op) {
  bool found = false;
  if (const te::Compute* compute = op->compute())
    for (const ir::Expr& body : compute->bodies)
      ir::walk(body, [&](const ir::Expr& e) { return !(found = found || steps(e)); });
  return found;
}

// A program that computes one element of `output` by its definition, with what it needs and no more.
Result<ir::Program> probe_program(const te::Tensor& output, const std::vector<int64_t>& at,
                                  const std::vector<te::Tensor>& inputs) {
  std::vector<ir::Expr> subscripts(at.begin(), at.end());
  const te::Tensor probe = te::compute({1}, [&](ir::Var) { return output(subscripts); }, "probe");
  schedule::Schedule s({probe});
  const schedule::LoopNest& nest = s.nest();
  std::string name;
  std::vector<std::string> producers;
  for (int i = 0; i < nest.size(); ++i) {
    if (nest.stage(i).output)
      name = nest.stage(i).name;
    else if (!nest.stage(i).is_placeholder())
      producers.push_back(nest.stage(i).name);
  }
  const std::string axis = nest.stage(nest.find_stage(name)).axes[0].name;
  for (const std::string& producer : producers) {
    TW_TRY([[maybe_unused]] Unit placed, s.try_apply(schedule::ComputeAt{producer, name, axis}));
  }
  double work = 0;
  for (const schedule::StageView& view : schedule::view_stages(s.nest())) work += view.trips() * view.enclosing;
  constexpr double kMostWork = 1e7;  // about a second in the interpreter
  if (work > kMostWork) return Diagnostic{ErrorKind::kTune, "one element is too much work for the interpreter", {}, {}};
  std::vector<te::Tensor> args = inputs;
  args.push_back(probe);
  return schedule::to_ir(s, args);
}

struct Checked {
  const std::vector<te::Tensor>& args;
  const CheckData& data;
  const std::vector<size_t> offsets = runtime::argument_offsets(data.args);
  const std::byte* input(size_t a) const { return static_cast<const std::byte*>(data.inputs.data()) + offsets[a]; }
};

// The placeholders that an output needs, with their memory.
std::vector<size_t> inputs_of(const te::Tensor& output, const Checked& c) {
  std::vector<size_t> inputs;
  const std::vector<te::Operation> ops = te::topological_order({output});
  for (size_t a = 0; a < c.args.size(); ++a) {
    const bool needed = std::find(ops.begin(), ops.end(), c.args[a].op()) != ops.end();
    if (needed && c.args[a].op()->is_placeholder()) inputs.push_back(a);
  }
  return inputs;
}

// A random element of an output, computed from the declaration; none where that is too much work.
std::optional<runtime::Probe> probe(size_t a, const Checked& c, support::Rng& rng) {
  const ArgSpec& spec = c.data.args[a];
  std::vector<int64_t> at;
  int64_t element = 0;
  for (const int64_t extent : spec.shape) {
    at.push_back(static_cast<int64_t>(rng.below(static_cast<uint64_t>(extent))));
    element = element * extent + at.back();
  }
  std::vector<te::Tensor> inputs;
  std::vector<ir::InterpBuffer> buffers;
  for (size_t i : inputs_of(c.args[a], c)) {
    inputs.push_back(c.args[i]);
    buffers.push_back({const_cast<std::byte*>(c.input(i)), c.data.args[i].bytes()});  // it is read
  }
  const auto program = probe_program(c.args[a], at, inputs);
  if (!program) return std::nullopt;
  std::byte memory[8] = {};
  buffers.push_back({memory, static_cast<size_t>(spec.dtype.bytes())});
  ir::InterpOptions options;
  options.check_unwritten = options.check_races = false;  // each takes memory of the size of the arguments
  const Status ran = ir::interpret(*program, buffers, options);
  if (!ran.ok()) tune_error("the reference result cannot be checked: " + ran.error().what, ran.error().notes);
  const ir::interp::ReadFn read = ir::interp::read_function(spec.dtype);
  return runtime::Probe{a, element, ir::interp::number_of(read(memory, 0), spec.dtype)};
}

void check_element(const runtime::Probe& probe, const CheckData& data) {
  const size_t a = probe.argument;
  const auto* output = static_cast<const std::byte*>(data.reference.data()) + runtime::argument_offsets(data.args)[a];
  const std::string wrong =
      runtime::wrong_element(data.args[a], output, probe.element, probe.expected, data.rtol[a], data.atol[a]);
  if (wrong.empty()) return;
  throw Error(Diagnostic{ErrorKind::kInternal, "the default schedule gives a wrong result", {}, {wrong}});
}

}  // namespace

double tolerance(ir::Type type, double length) {
  if (!type.is_float() && !type.is_float8()) return 0;
  if (type.is_float8())
    return type.code == ir::TypeCode::kE4M3 ? 0x1p-3 : 0x1p-2;  // the value before may fall on either side
  return std::ldexp(16 + 2 * std::sqrt(length) + length / 100, 1 - ir::significand_bits(type));
}

double tolerance(const std::vector<te::Tensor>& outputs) {
  double all = 0;
  for (const te::Operation& op : te::topological_order(outputs))
    if (const auto type = rounding_type(op)) all += tolerance(*type, reduction_length(op));
  return all;
}

double step_tolerance(const std::vector<te::Tensor>& outputs) {
  constexpr double kStepOfInt8 = 1.0 / 64;  // with what the largest of 127 adds
  return std::ranges::any_of(te::topological_order(outputs), [](const auto& op) { return steps(op); }) ? kStepOfInt8
                                                                                                       : 0;
}

CheckData unchecked_data(const std::vector<te::Tensor>& outputs, const std::vector<ArgSpec>& specs) {
  CheckData data;
  data.args = specs;
  data.inputs = runtime::random_inputs(specs);
  const double rounding = tolerance(outputs), step = rounding > 0 ? step_tolerance(outputs) : 0;
  for (const ArgSpec& spec : specs) data.rtol.push_back(rounding + (spec.dtype.is_integer() ? 0 : step));
  return data;
}

std::vector<runtime::Probe> probes_of(const std::vector<te::Tensor>& args, const CheckData& data, int count) {
  const Checked checked{args, data};
  support::Rng rng(7);
  std::vector<runtime::Probe> probes;
  for (size_t a = 0; a < args.size(); ++a) {
    if (!data.args[a].written || data.args[a].bytes() == 0) continue;
    for (int n = 0; n < count; ++n) {
      const std::optional<runtime::Probe> next = probe(a, checked, rng);
      if (!next) break;
      probes.push_back(*next);
    }
  }
  return probes;
}

CheckData make_check_data(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args,
                          const std::vector<ArgSpec>& specs, const Compute& compute) {
  CheckData data = unchecked_data(outputs, specs);
  data.reference = compute(data.inputs);
  const std::vector<size_t> offsets = runtime::argument_offsets(specs);
  for (size_t a = 0; a < specs.size(); ++a)
    data.atol.push_back(runtime::absolute_tolerance(
        specs[a], static_cast<const std::byte*>(data.reference.data()) + offsets[a], data.rtol[a]));
  for (const runtime::Probe& probe : probes_of(args, data, kProbes)) check_element(probe, data);
  return data;
}

}  // namespace tw::autotune
