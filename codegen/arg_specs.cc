#include "codegen/arg_specs.h"

#include <algorithm>

#include "src/ir/externs.h"
#include "src/ir/walk.h"
#include "tensorwright/externs.h"

namespace tw::codegen {

namespace {

// Numbers, and the expressions themselves when one of them is no number.
void specify(const std::vector<ir::Expr>& values, std::vector<int64_t>& numbers, std::vector<ir::Expr>& symbols) {
  for (const ir::Expr& value : values) numbers.push_back(ir::as_int(value).value_or(-1));
  if (!std::all_of(values.begin(), values.end(), [](const ir::Expr& e) { return ir::as_int(e).has_value(); }))
    symbols = values;
}

}  // namespace

std::vector<runtime::ArgSpec> arg_specs(const ir::Program& program) {
  std::vector<runtime::ArgSpec> specs;
  for (const ir::Param& param : program.params) {
    runtime::ArgSpec spec;
    spec.name = param.buffer.name();
    spec.dtype = param.buffer.element();
    specify(param.buffer.shape(), spec.shape, spec.symbolic_shape);
    specify(param.buffer.strides(), spec.strides, spec.symbolic_strides);
    spec.written = param.written;
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<runtime::ScalarSpec> scalar_specs(const ir::Program& program) {
  std::vector<runtime::ScalarSpec> specs;
  for (size_t s = 0; s < program.scalars.size(); ++s)
    specs.push_back({program.scalars[s], s < program.places.size() ? program.places[s] : -1});
  return specs;
}

std::vector<std::string> extent_texts(const ir::Program& program) {
  ir::Substitution names;
  for (size_t s = 0; s < program.scalars.size(); ++s)
    names[program.scalars[s].id()] = ir::Var("s" + std::to_string(s), program.scalars[s].type());
  std::vector<std::string> texts;
  const auto add = [&](const std::vector<ir::Expr>& values) {
    for (const ir::Expr& value : values)
      texts.push_back(ir::as_int(value) ? "" : ir::to_string(ir::substitute(value, names)));
  };
  for (const ir::Param& param : program.params) {
    add(param.buffer.shape());
    add(param.buffer.strides());
  }
  if (std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); })) texts.clear();
  return texts;
}

void require_saveable(const ir::Program& program) {
  for (const std::string& symbol : ir::extern_symbols(program))
    if (extern_is_by_pointer(symbol))
      throw Error({ErrorKind::kArgument,
                   "save: " + program.name + " calls " + symbol + ", which was registered by a pointer",
                   {},
                   {"a pointer has a meaning in this process only; load a library that has the symbol instead"}});
}

}  // namespace tw::codegen
