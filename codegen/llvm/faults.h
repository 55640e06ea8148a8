// The ways round what LLVM compiles wrong.
#pragma once

#include <llvm/IR/Module.h>

#include "tensorwright/target.h"

namespace tw::codegen {

// After all passes, for they would undo it. The meaning stays.
void avoid_faults(llvm::Module& module, const Target& target);

}  // namespace tw::codegen
