// The optimisation passes that a kernel goes through.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "tensorwright/target.h"

namespace tw::codegen {

// Lowering has tiled, vectorised and unrolled; LLVM cleans up. Left out on purpose: the vectorisers and the unroller
// (they would undo the schedule), loop idioms (they call memset and memcpy), everything that contracts or reassociates
// floats.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, const Target& target, int opt_level);

}  // namespace tw::codegen
