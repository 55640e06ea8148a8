#include "codegen/arg_specs.h"

#include <algorithm>
#include <set>

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
    spec.dtype = param.outside().element();
    specify(param.outside().shape(), spec.shape, spec.symbolic_shape);
    specify(param.outside().strides(), spec.strides, spec.symbolic_strides);
    spec.written = param.written;
    spec.layout = param.layout;
    spec.range = param.range;
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

namespace {

ir::Substitution numbered_scalars(const ir::Program& program) {
  ir::Substitution names;
  for (size_t s = 0; s < program.scalars.size(); ++s)
    names[program.scalars[s].id()] = ir::Var("s" + std::to_string(s), program.scalars[s].type());
  return names;
}

}  // namespace

std::vector<std::string> extent_texts(const ir::Program& program) {
  const ir::Substitution names = numbered_scalars(program);
  std::vector<std::string> texts;
  const auto add = [&](const std::vector<ir::Expr>& values) {
    for (const ir::Expr& value : values)
      texts.push_back(ir::as_int(value) ? "" : ir::to_string(ir::substitute(value, names)));
  };
  for (const ir::Param& param : program.params) {
    add(param.outside().shape());
    add(param.outside().strides());
  }
  if (std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); })) texts.clear();
  return texts;
}

std::vector<ir::Requirement> numbered_requirements(const ir::Program& program) {
  const ir::Substitution names = numbered_scalars(program);
  std::vector<ir::Requirement> all = ir::requirements_of(program);
  for (ir::Requirement& r : all) r.test = ir::substitute(r.test, names);
  return all;
}

std::vector<std::string> layout_texts(const ir::Program& program) {
  std::vector<std::string> texts;
  for (const ir::Param& param : program.params) texts.push_back(param.layout);
  if (std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); })) texts.clear();
  return texts;
}

std::vector<std::string> packer_names(const ir::Program& program) {
  std::vector<std::string> names = layout_texts(program);
  std::set<std::string> used;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    constexpr size_t kLongestPart = 128;
    std::string name = program.name + "_pack_";
    for (const char c : program.params[i].buffer.name().substr(0, kLongestPart))
      name += isalnum(static_cast<unsigned char>(c)) ? c : '_';
    names[i] = name;
    for (int n = 2; !used.insert(names[i]).second; ++n) names[i] = name + "_" + std::to_string(n);
  }
  return names;
}

namespace {

void require_saveable(const ir::Program& program) {
  for (const std::string& symbol : ir::extern_symbols(program))
    if (extern_is_by_pointer(symbol))
      throw Error({ErrorKind::kArgument,
                   "save: " + program.name + " calls " + symbol + ", which was registered by a pointer",
                   {},
                   {"a pointer has a meaning in this process only; load a library that has the symbol instead"}});
}

}  // namespace

std::vector<std::shared_ptr<const runtime::Kernel>> kernels_of(const std::vector<ir::Program>& programs,
                                                               const MakeKernel& make) {
  std::set<std::string> packing;
  for (const ir::Program& program : programs)
    for (const std::string& name : packer_names(program)) packing.insert(name);
  const auto named = [&](const std::string& name) {
    return std::find_if(programs.begin(), programs.end(), [&](const ir::Program& p) { return p.name == name; });
  };
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels;
  for (const ir::Program& program : programs) {
    if (packing.contains(program.name)) continue;
    runtime::Packers packers;
    for (const std::string& name : packer_names(program)) {
      const auto found = named(name);
      packers.push_back(name.empty() || found == programs.end() ? nullptr : make(*found, {}));
    }
    kernels.push_back(make(program, std::move(packers)));
  }
  return kernels;
}

void require_saveable(const std::vector<ir::Program>& programs) {
  for (const ir::Program& program : programs) require_saveable(program);
}

}  // namespace tw::codegen
