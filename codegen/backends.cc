#include "codegen/backends.h"

#include "codegen/c/backend.h"
#include "codegen/cuda/module.h"
#include "codegen/interp_module.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif

namespace tw::codegen {

const Backend& backend_of(const Target& target) {
  static const Backend kBackends[] = {
      {"interp", lower::cpu_passes(), make_interp_module, schedule::explain},
      {"c", lower::cpu_passes(), make_c_module, schedule::explain},
      {"cuda", lower::gpu_passes(), make_cuda_module, schedule::explain_device},
#if TW_LLVM
      {"llvm", lower::cpu_passes(), make_llvm_module, schedule::explain},
#endif
  };
  for (const Backend& backend : kBackends)
    if (target.kind == backend.kind) return backend;
  throw Error({ErrorKind::kTarget,
               "build: no code generator for target \"" + target.to_string() + "\"",
               {},
               {"make targets with Target::parse or Target::host"}});
}

}  // namespace tw::codegen
