// Products of 32 bits whose factors have 16.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// Where vectors of int32 are multiplied that hold no more than an int16 each, as bytes and words that were widened do:
//
//   c = a * b     ==>     c = pmaddwd(a & 0xffff, b)
//
// x86 multiplies pairs of words and adds the two products in one instruction; of the second pair one factor is 0. Its
// product of 32 bits is two instructions, ten cycles long, on Intel's CPUs, and with the sum that it is added to three;
// this one is two, or one where there is vpdpwssd. A number that all lanes share is masked before it is spread; without
// one, and where both factors may be negative, the mask costs what the product saves: then nothing changes.
class WordProductsPass : public llvm::PassInfoMixin<WordProductsPass> {
 public:
  explicit WordProductsPass(int vector_bits) : vector_bits_(static_cast<unsigned>(vector_bits)) {}
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);

 private:
  unsigned vector_bits_;
};

}  // namespace tw::codegen
