#include "src/runtime/kernel.h"

#include <cstdlib>
#include <utility>

namespace tw::runtime {
namespace {

class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(KernelFn fn, std::vector<ArgSpec> args, std::string name, std::shared_ptr<const void> keepalive)
      : fn_(fn), args_(std::move(args)), name_(std::move(name)), keepalive_(std::move(keepalive)) {}
  const std::string& name() const override { return name_; }
  const std::vector<ArgSpec>& args() const override { return args_; }
  int32_t run(void* const* data) const override {
    const tw_args args{sizeof(tw_args), TW_ABI_VERSION, data};
    return fn_(&args, host_context());
  }

 private:
  KernelFn fn_;
  std::vector<ArgSpec> args_;
  std::string name_;
  std::shared_ptr<const void> keepalive_;
};

Result<ir::Type> type_of(const tw_param_descriptor& param) {
  using ir::TypeCode;
  constexpr TypeCode kCodes[] = {TypeCode::kBool, TypeCode::kInt, TypeCode::kUInt, TypeCode::kFloat, TypeCode::kBFloat};
  if (param.type_code < std::size(kCodes)) {
    const ir::Type type{kCodes[param.type_code], param.bits, 1};
    if (ir::parse_type(ir::to_string(type)) == type) return type;
  }
  return Diagnostic{ErrorKind::kBuild,
                    std::string("load: parameter ") + param.name + " has an unknown type (code " +
                        std::to_string(param.type_code) + ", " + std::to_string(param.bits) + " bits)",
                    {},
                    {}};
}

}  // namespace

std::shared_ptr<const Kernel> make_kernel(KernelFn fn, std::vector<ArgSpec> args, std::string name,
                                          std::shared_ptr<const void> keepalive) {
  return std::make_shared<CompiledKernel>(fn, std::move(args), std::move(name), std::move(keepalive));
}

Result<std::vector<ArgSpec>> arg_specs(const tw_kernel_descriptor& descriptor) {
  if (descriptor.version != TW_ABI_VERSION || descriptor.size < sizeof(tw_kernel_descriptor))
    return Diagnostic{ErrorKind::kBuild,
                      "load: the kernel was built for version " + std::to_string(descriptor.version) +
                          " of the kernel ABI, this library has version " + std::to_string(TW_ABI_VERSION),
                      {},
                      {"build it again with this release"}};
  std::vector<ArgSpec> specs;
  for (uint32_t i = 0; i < descriptor.param_count; ++i) {
    const tw_param_descriptor& param = descriptor.params[i];
    ArgSpec spec;
    TW_TRY(spec.dtype, type_of(param));
    spec.name = param.name;
    spec.written = param.written != 0;
    spec.shape.assign(param.shape, param.shape + param.rank);
    if (param.strides) spec.strides.assign(param.strides, param.strides + param.rank);
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::string kernel_symbol(const std::string& name) { return TW_KERNEL_PREFIX + name; }
std::string descriptor_symbol(const std::string& name) { return kernel_symbol(name) + "_descriptor"; }

int64_t spanned_elements(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t count = 1, last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    count *= shape[d];
    if (!strides.empty()) last += (shape[d] - 1) * strides[d];
  }
  return count == 0 || strides.empty() ? count : last + 1;
}

int64_t ArgSpec::elements() const { return spanned_elements(shape, strides); }

void require_measuring_allowed(const std::string& who) {
  const char* value = std::getenv("TW_MEASURE");
  if (!value || std::string_view(value) != "forbid") return;
  throw Error(Diagnostic{
      ErrorKind::kTune, who + ": measuring is forbidden by TW_MEASURE=forbid", {}, {"unset TW_MEASURE to allow it"}});
}

void throw_kernel_failed(const Kernel& kernel, int32_t code) {
  const std::string why = code == TW_ERROR_OUT_OF_MEMORY ? "there was no memory for its scratch"
                                                         : "it returned code " + std::to_string(code);
  throw Error(Diagnostic{ErrorKind::kArgument, kernel.name() + ": the call failed: " + why, {}, {}});
}

}  // namespace tw::runtime
