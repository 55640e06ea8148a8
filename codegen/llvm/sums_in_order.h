// Sums of integers that many terms of an iteration are added to, in the order in which they are written.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// Where a vector of integers goes around a loop of one block that adds to it more than once:
//
//   loop: s = phi(0, u)                     loop: s = phi(0, u)
//         t = s + a * b             ==>           t = keep(s + a * b)
//         u = t + c * d                           u = t + c * d
//
// LLVM's combiner of machine instructions takes integers in any order, and makes s + (a * b + c * d) of it: a shorter
// chain, in which each sum has a second register while terms are collected. Where such sums take half the registers,
// which is when others hide that a chain is long, those went to the stack. `keep` is an empty statement of assembly,
// which costs nothing.
class SumsInOrderPass : public llvm::PassInfoMixin<SumsInOrderPass> {
 public:
  SumsInOrderPass(int registers, int vector_bits)
      : registers_(static_cast<unsigned>(registers)), vector_bits_(static_cast<unsigned>(vector_bits)) {}
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);

 private:
  unsigned registers_, vector_bits_;
};

}  // namespace tw::codegen
