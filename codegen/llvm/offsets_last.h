// Addresses whose constant part an access adds itself.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// Where LICM has lifted many sums of a pointer and a constant out of a loop, of which each is a register there:
//
//   p1 = p + 16, p2 = p + 232, ...                 in the loop:  q = p + i
//   in the loop: p1[i], p2[i], ...          ==>                  q[16], q[232], ...
//
// For CPUs whose loads add one offset alone (src/target/abilities.h). What is more than their registers hold would be
// read from the stack, an instruction for each access.
class OffsetsLastPass : public llvm::PassInfoMixin<OffsetsLastPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);
};

}  // namespace tw::codegen
