// Which LLVM this is.
#include <llvm/Config/llvm-config.h>

#include "codegen/llvm/backend.h"

namespace tw::codegen {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tw::codegen
