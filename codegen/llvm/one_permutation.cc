#include "codegen/llvm/one_permutation.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>
#include <vector>

namespace tw::codegen {

namespace {

constexpr unsigned kBytes = 64, kQuarter = 16;  // of a register

// Whether the shuffle makes a register of two halves, of whose quarters it takes a byte each in turn.
bool takes_turns(const llvm::ShuffleVectorInst& shuffle) {
  const auto is_bytes = [](const llvm::Value* value, unsigned lanes) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return type && type->getElementType()->isIntegerTy(8) && type->getNumElements() == lanes;
  };
  if (!is_bytes(&shuffle, kBytes) || !is_bytes(shuffle.getOperand(0), kBytes / 2)) return false;
  const llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
  for (unsigned lane = 0; lane < kBytes; ++lane)
    if (mask[lane] != static_cast<int>(lane % 4 * kQuarter + lane / 4)) return false;
  return true;
}

void permute(llvm::ShuffleVectorInst& shuffle) {
  llvm::IRBuilder<> b(&shuffle);
  std::vector<int> all(kBytes);
  std::iota(all.begin(), all.end(), 0);
  llvm::Value* joined = b.CreateShuffleVector(shuffle.getOperand(0), shuffle.getOperand(1), all);
  std::vector<llvm::Constant*> from;
  for (const int lane : shuffle.getShuffleMask()) from.push_back(b.getInt8(static_cast<uint8_t>(lane)));
  shuffle.replaceAllUsesWith(
      b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_qi_512, {}, {joined, llvm::ConstantVector::get(from)}));
  shuffle.eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses OnePermutationPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::ShuffleVectorInst*> found;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction); shuffle && takes_turns(*shuffle))
      found.push_back(shuffle);
  for (llvm::ShuffleVectorInst* shuffle : found) permute(*shuffle);
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace tw::codegen
