// Kernels from machine code: what codegen's modules and the loader of shared objects have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/ir/requirement.h"
#include "src/runtime/find_externs.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Of each argument the kernel that packs it, or null; empty when none is packed.
using Packers = std::vector<std::shared_ptr<const Kernel>>;

// A Kernel that calls `fn` with the host's context and keeps `keepalive`, which owns the code, until the last call is
// over. `externs`: the C functions that it calls.
std::shared_ptr<const Kernel> make_kernel(KernelFn fn, std::vector<ArgSpec> args, std::string name,
                                          std::shared_ptr<const void> keepalive, std::vector<ScalarSpec> scalars = {},
                                          Externs externs = {}, Packers packers = {},
                                          std::vector<ir::Requirement> requirements = {});

// A kernel whose sizes must satisfy something.
class Requiring {
 public:
  virtual ~Requiring() = default;
  virtual const std::vector<ir::Requirement>& requirements() const = 0;
};

// What a descriptor states; kBuild for one that makes no sense (another ABI, an unknown type).
struct KernelSpecs {
  std::vector<ArgSpec> args;
  std::vector<ScalarSpec> scalars;
  std::vector<std::string> externs;
  std::vector<std::string>
      packers;  // of each argument the name of the kernel that packs it, or ""; empty: none is packed
  std::vector<ir::Requirement> requirements;
};
Result<KernelSpecs> specs_of(const tw_kernel_descriptor&);
// What the kernel may use and this CPU does not have: features, a length of vectors; empty: it runs here.
std::string lacking_here(const tw_kernel_descriptor&);

// Of arrays and scalars, in the order in which a call has them: "A, alpha, C".
std::string argument_names(const Kernel&);

// "tw_dense" and "tw_dense_descriptor" for "dense".
std::string kernel_symbol(const std::string& name);
std::string descriptor_symbol(const std::string& name);

// Elements that a view with this shape and these strides spans from its first to its last; 0 when it has none.
int64_t spanned_elements(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);

// What check_ranges checks, of one argument, whose shape is right.
Status check_range(const Kernel&, size_t argument, const ArrayView&);

// Throws kTune when TW_MEASURE=forbid: the promise that a build from a log measures nothing.
void require_measuring_allowed(const std::string& who);

// Throws what a non-zero return code of a kernel means, which was given `data`.
[[noreturn]] void throw_kernel_failed(const Kernel&, int32_t code, void* const* data);

}  // namespace tw::runtime
