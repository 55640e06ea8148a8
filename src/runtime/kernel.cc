#include "src/runtime/kernel.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "src/ir/parse.h"
#include "src/runtime/extents.h"
#include "src/target/cpu.h"

namespace tw::runtime {
namespace {

template <class Row>  // of a parameter or of a scalar
Result<ir::Type> type_of(const Row& param) {
  using ir::TypeCode;
  constexpr TypeCode kCodes[] = {TypeCode::kBool,   TypeCode::kInt,   TypeCode::kUInt, TypeCode::kFloat,
                                 TypeCode::kBFloat, TypeCode::kIndex, TypeCode::kE4M3, TypeCode::kE5M2};
  if (param.type_code < std::size(kCodes)) {
    const ir::Type type{kCodes[param.type_code], param.bits, 1};
    if (ir::parse_type(ir::to_string(type)) == type) return type;
  }
  return Diagnostic{ErrorKind::kBuild,
                    std::string("load: argument ") + param.name + " has an unknown type (code " +
                        std::to_string(param.type_code) + ", " + std::to_string(param.bits) + " bits)",
                    {},
                    {}};
}

// The scalars, and what a descriptor's texts call them.
struct Named {
  explicit Named(const KernelSpecs& specs) {
    for (const ScalarSpec& scalar : specs.scalars) {
      names.push_back("s" + std::to_string(vars.size()));
      vars.push_back(scalar.var);
    }
  }
  std::vector<std::string> names;
  std::vector<ir::Var> vars;
};

// The symbolic shapes of a descriptor, as text.
Status read_extents(const char* const* texts, KernelSpecs& specs) {
  const Named scalars(specs);
  const auto read = [&](const std::vector<int64_t>& numbers, std::vector<ir::Expr>& symbols) -> Status {
    bool any = false;
    for (const int64_t number : numbers) {
      const char* text = *texts++;
      symbols.emplace_back(number);
      if (!text) continue;
      any = true;
      TW_TRY(symbols.back(), ir::parse_expr(text, scalars.names, scalars.vars));
    }
    if (!any) symbols.clear();
    return Unit{};
  };
  for (ArgSpec& spec : specs.args) {
    TW_TRY([[maybe_unused]] Unit shape, read(spec.shape, spec.symbolic_shape));
    TW_TRY([[maybe_unused]] Unit strides, read(spec.strides, spec.symbolic_strides));
  }
  return Unit{};
}

Status read_requirements(const tw_kernel_descriptor& descriptor, KernelSpecs& specs) {
  const Named scalars(specs);
  for (uint32_t r = 0; r < descriptor.requirement_count; ++r) {
    const tw_requirement_descriptor& required = descriptor.requirements[r];
    TW_TRY(const ir::Expr test, ir::parse_expr(required.condition, scalars.names, scalars.vars));
    specs.requirements.push_back({test, required.text});
  }
  return Unit{};
}

}  // namespace

const std::vector<ScalarSpec>& Kernel::scalars() const {
  static const std::vector<ScalarSpec> none;
  return none;
}

const Kernel* Kernel::packer(size_t) const { return nullptr; }

Result<KernelSpecs> specs_of(const tw_kernel_descriptor& descriptor) {
  constexpr uint32_t kFirstSize = offsetof(tw_kernel_descriptor, scalar_count);  // before there were scalars
  if (descriptor.version != TW_ABI_VERSION || descriptor.size < kFirstSize)
    return Diagnostic{ErrorKind::kBuild,
                      "load: the kernel was built for version " + std::to_string(descriptor.version) +
                          " of the kernel ABI, this library has version " + std::to_string(TW_ABI_VERSION),
                      {},
                      {"build it again with this release"}};
  KernelSpecs specs;
  for (uint32_t i = 0; i < descriptor.param_count; ++i) {
    const tw_param_descriptor& param = descriptor.params[i];
    ArgSpec spec;
    TW_TRY(spec.dtype, type_of(param));
    spec.name = param.name;
    spec.written = param.written != 0;
    spec.shape.assign(param.shape, param.shape + param.rank);
    if (param.strides) spec.strides.assign(param.strides, param.strides + param.rank);
    specs.args.push_back(std::move(spec));
  }
  if (descriptor.size < offsetof(tw_kernel_descriptor, extern_count)) return specs;  // before there were scalars
  for (uint32_t s = 0; s < descriptor.scalar_count; ++s) {
    const tw_scalar_descriptor& scalar = descriptor.scalars[s];
    TW_TRY(const ir::Type type, type_of(scalar));
    specs.scalars.push_back({ir::Var(scalar.name, type), scalar.place});
  }
  if (descriptor.extents) {
    TW_TRY([[maybe_unused]] Unit read, read_extents(descriptor.extents, specs));
  }
  if (descriptor.size < offsetof(tw_kernel_descriptor, layouts)) return specs;
  specs.externs.assign(descriptor.externs, descriptor.externs + descriptor.extern_count);
  if (descriptor.size < offsetof(tw_kernel_descriptor, requirement_count)) return specs;
  for (uint32_t i = 0; descriptor.layouts && descriptor.packers && i < descriptor.param_count; ++i) {
    const bool packed = descriptor.layouts[i] && descriptor.packers[i];
    if (packed) specs.args[i].layout = descriptor.layouts[i];
    specs.packers.emplace_back(packed ? descriptor.packers[i] : "");
  }
  if (descriptor.size >= offsetof(tw_kernel_descriptor, vector_bits)) {
    TW_TRY([[maybe_unused]] Unit read, read_requirements(descriptor, specs));
  }
  return specs;
}

std::string lacking_here(const tw_kernel_descriptor& descriptor) {
  std::vector<std::string> features;
  std::istringstream list(descriptor.cpu_features ? descriptor.cpu_features : "");
  for (std::string feature; std::getline(list, feature, ',');) features.push_back(feature);
  const bool states_length = descriptor.size > offsetof(tw_kernel_descriptor, vector_bits);
  const int vector_bits = states_length ? static_cast<int>(descriptor.vector_bits) : 0;
  std::string missing;
  for (const std::string& name : target::missing_on(target::host_cpu(), features, vector_bits))
    missing += (missing.empty() ? "" : ", ") + name;
  return missing;
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

void throw_kernel_failed(const Kernel& kernel, int32_t code, void* const* data) {
  if (code == TW_ERROR_SIZES) {
    std::vector<ScalarValue> scalars(kernel.scalars().size());
    for (size_t s = 0; s < scalars.size(); ++s)
      std::memcpy(&scalars[s], data[kernel.args().size() + s],
                  static_cast<size_t>(kernel.scalars()[s].var.type().bytes()));
    check_requirements(kernel, scalars).value_or_throw();
  }
  const std::string why = code == TW_ERROR_OUT_OF_MEMORY ? "there was no memory for its scratch"
                          : code == TW_ERROR_SIZES       ? "its sizes are not what it requires"
                                                         : "it returned code " + std::to_string(code);
  throw Error(Diagnostic{ErrorKind::kArgument, kernel.name() + ": the call failed: " + why, {}, {}});
}

}  // namespace tw::runtime
