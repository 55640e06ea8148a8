// Long chains of arithmetic that stand one after another.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// The vectors of a group go through a polynomial four at a time, and two where it is long:
//
//   a1 = f(a), a2 = g(a1), ..., store a9            a1 = f(a), b1 = f(b), ..,
//   b1 = f(b), b2 = g(b1), ..., store b9    ==>     a2 = g(a1), b2 = g(b1), .., ..., store a9, store b9, ..
//
// Each step waits for the one before it, and a CPU looks only so far ahead: past one chain where vectors are short or
// done in halves. Where registers are few, the constants are loaded for each step, which those of several vectors
// share.
class TakeTurnsPass : public llvm::PassInfoMixin<TakeTurnsPass> {
 public:
  explicit TakeTurnsPass(int vector_bits) : vector_bits_(vector_bits) {}
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);

 private:
  int vector_bits_;
};

}  // namespace tw::codegen
