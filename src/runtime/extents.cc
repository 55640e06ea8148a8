#include "src/runtime/extents.h"

#include <algorithm>
#include <cstring>

#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"
#include "src/runtime/kernel.h"

namespace tw::runtime {

std::optional<int64_t> evaluate(const ir::Expr& extent, const Values& values) {
  if (const auto* c = ir::as<ir::IntImm>(extent)) return c->value;
  if (const auto* v = ir::as<ir::VarRef>(extent)) {
    const auto found = values.find(v->var.id());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  const auto* b = ir::as<ir::Binary>(extent);
  if (!b) return std::nullopt;
  const auto x = evaluate(b->a, values), y = evaluate(b->b, values);
  if (!x || !y) return std::nullopt;
  if (*y == 0 && b->op >= ir::BinOp::kFloorDiv && b->op <= ir::BinOp::kTruncMod) return 0;
  const ir::Interval result = ir::apply(b->op, ir::Interval::point(*x), ir::Interval::point(*y));
  return result.is_point() && result.bounded() ? std::optional(result.lo) : std::nullopt;
}

std::vector<int64_t> compact_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

namespace {

void set_symbols(std::vector<int64_t>& numbers, const std::vector<ir::Expr>& symbols, const Values& values) {
  if (!symbols.empty()) numbers.resize(symbols.size());
  for (size_t d = 0; d < symbols.size(); ++d) numbers[d] = evaluate(symbols[d], values).value_or(-1);
}

std::vector<ArgSpec> specialised(const Kernel& kernel, const Values& values) {
  std::vector<ArgSpec> specs = kernel.args();
  for (ArgSpec& spec : specs) {
    set_symbols(spec.shape, spec.symbolic_shape, values);
    set_symbols(spec.strides, spec.symbolic_strides, values);
  }
  return specs;
}

// The variables that are the whole extent of a dimension, by the first such dimension.
void read_off(const Kernel& kernel, std::span<const ArrayView> views, Values& values) {
  for (size_t i = 0; i < views.size(); ++i) {
    const std::vector<ir::Expr>& shape = kernel.args()[i].symbolic_shape;
    for (size_t d = 0; d < std::min(shape.size(), views[i].shape.size()); ++d)
      if (const auto* v = ir::as<ir::VarRef>(shape[d])) values.emplace(v->var.id(), views[i].shape[d]);
  }
}

}  // namespace

Result<BoundCall> bind_call(const Kernel& kernel, std::span<const ArrayView> views,
                            std::span<const ScalarValue> given) {
  BoundCall call;
  Values values;
  const std::vector<ScalarSpec>& scalars = kernel.scalars();
  const auto explicit_ones = std::count_if(scalars.begin(), scalars.end(), [](const auto& s) { return s.place >= 0; });
  if (given.size() != static_cast<size_t>(explicit_ones))
    return Diagnostic{
        ErrorKind::kArgument,
        kernel.name() + ": takes " + std::to_string(explicit_ones) + " scalars, not " + std::to_string(given.size()),
        {},
        {}};
  for (size_t s = 0; s < given.size(); ++s)  // they come first
    if (scalars[s].var.type().is_index()) values[scalars[s].var.id()] = static_cast<int64_t>(given[s]);
  read_off(kernel, views, values);
  call.args = specialised(kernel, values);
  call.scalars.assign(given.begin(), given.end());
  for (size_t s = given.size(); s < scalars.size(); ++s) {
    const auto found = values.find(scalars[s].var.id());
    call.scalars.push_back(found == values.end() ? 0 : static_cast<ScalarValue>(found->second));
  }
  return call;
}

Status check_requirements(const Kernel& kernel, const std::vector<ScalarValue>& scalars) {
  const auto* requiring = dynamic_cast<const Requiring*>(&kernel);
  if (!requiring || requiring->requirements().empty()) return Unit{};
  Values values;
  std::vector<ir::Var> vars;
  for (size_t s = 0; s < scalars.size(); ++s) {
    vars.push_back(kernel.scalars()[s].var);
    if (vars.back().type().is_index()) values[vars.back().id()] = static_cast<int64_t>(scalars[s]);
  }
  for (const ir::Requirement& r : requiring->requirements()) {
    if (evaluate(r.test, values) == 1) continue;
    std::string given;
    for (const ir::Var& v : vars)
      if (ir::uses_var(r.test, v))
        given += (given.empty() ? "" : ", ") + v.name() + " = " + std::to_string(values[v.id()]);
    return Diagnostic{ErrorKind::kArgument, kernel.name() + ": requires " + r.text, {}, {"given: " + given}};
  }
  return Unit{};
}

std::vector<ArgSpec> specialised(const Kernel& kernel, void* const* scalars) {
  Values values;
  for (size_t s = 0; s < kernel.scalars().size(); ++s) {
    const ir::Var& var = kernel.scalars()[s].var;
    if (var.type().is_index()) std::memcpy(&values[var.id()], scalars[s], sizeof(int64_t));
  }
  return specialised(kernel, values);
}

std::vector<void*> addresses(std::span<const ArrayView> views, BoundCall& call) {
  std::vector<void*> data;
  for (const ArrayView& view : views) data.push_back(view.data);
  for (ScalarValue& value : call.scalars) data.push_back(&value);
  return data;
}

}  // namespace tw::runtime
