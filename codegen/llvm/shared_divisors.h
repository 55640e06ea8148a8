// Divisions of many vectors by one number.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// Where vectors are divided by a number that a loop does not change, or that several of them share:
//
//                                             r = 1 / d, l = (1 - r * d) * r
//   for ..: y = x / d                ==>      for ..: q = x * r + x * l, y = q + (x - q * d) * r      // fused
//                                                     if not all abs(y) >= 2^-62: y = x / d
//
// The quotient is the same bit for bit: r + l is 1 / d but for a part in 2^47, so that q is one of the two floats
// around x / d, and then y is x / d rounded (P. Markstein, Computation of elementary functions on the IBM RISC
// System/6000 processor, IBM J. Res. Develop. 34, 1990), as long as nothing on the way is too large or too small. d
// tells by itself, and y tells of the rest: of a NaN, an infinity, a zero and what is small one falls short. For
// CPUs that divide slowly (src/target/abilities.h).
class SharedDivisorsPass : public llvm::PassInfoMixin<SharedDivisorsPass> {
 public:
  explicit SharedDivisorsPass(int lanes) : lanes_(lanes) {}
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);

 private:
  unsigned lanes_;  // float32 of a register
};

}  // namespace tw::codegen
