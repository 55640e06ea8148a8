#include "codegen/arg_specs.h"

namespace tw::codegen {

namespace {

std::vector<int64_t> constants(const std::vector<ir::Expr>& values) {
  std::vector<int64_t> result;
  for (const ir::Expr& value : values) {
    const auto constant = ir::as_int(value);
    TW_CHECK(constant, "a parameter's shape must be constant: " + ir::to_string(value));
    result.push_back(*constant);
  }
  return result;
}

}  // namespace

std::vector<runtime::ArgSpec> arg_specs(const ir::Program& program) {
  std::vector<runtime::ArgSpec> specs;
  for (const ir::Param& param : program.params) {
    runtime::ArgSpec spec;
    spec.name = param.buffer.name();
    spec.dtype = param.buffer.element();
    spec.shape = constants(param.buffer.shape());
    spec.strides = constants(param.buffer.strides());
    spec.written = param.written;
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace tw::codegen
