#include "codegen/llvm/sums_in_order.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace tw::codegen {

namespace {

// Whether an x86 CPU that adds integers in registers of so many bits has the type in one of them. Products of int64 are
// many instructions, whose order matters more (0.97).
bool is_register(const llvm::Type* type, unsigned vector_bits) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector || !vector->getElementType()->isIntegerTy(32)) return false;
  const uint64_t bits = vector->getPrimitiveSizeInBits();
  return (bits == 128 || bits == 256 || bits == 512) && bits <= vector_bits;
}

// What adds to the value in this block, where nothing else reads it.
llvm::Instruction* addition_to(llvm::Instruction& value, const llvm::BasicBlock& block) {
  if (!value.hasOneUse()) return nullptr;
  auto* user = llvm::dyn_cast<llvm::Instruction>(*value.user_begin());
  const bool adds = user && user->getParent() == &block && user->getOpcode() == llvm::Instruction::Add;
  return adds ? user : nullptr;
}

// The additions to what a phi of a loop of one block carries, from the first to the last.
std::vector<llvm::Instruction*> additions(llvm::PHINode& carried, const llvm::BasicBlock& block) {
  const int around = carried.getBasicBlockIndex(&block);
  if (around < 0) return {};
  const llvm::Value* last = carried.getIncomingValue(static_cast<unsigned>(around));
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction* value = &carried; value != last;) {
    value = addition_to(*value, block);
    if (!value) return {};
    found.push_back(value);
  }
  return found;
}

void keep(llvm::Instruction& sum) {
  llvm::Type* type = sum.getType();
  auto* nothing = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=v,0", false);
  llvm::IRBuilder<> b(sum.getNextNode());
  llvm::CallInst* kept = b.CreateCall(nothing, {&sum});
  kept->setDoesNotAccessMemory();
  kept->setDoesNotThrow();
  sum.replaceUsesWithIf(kept, [&](const llvm::Use& use) { return use.getUser() != kept; });
}

}  // namespace

llvm::PreservedAnalyses SumsInOrderPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool any = false;
  for (llvm::BasicBlock& block : function) {
    std::vector<llvm::Instruction*> inner;  // sums that are added to once more
    uint64_t bits = 0;
    for (llvm::PHINode& carried : block.phis()) {
      if (!is_register(carried.getType(), vector_bits_)) continue;
      std::vector<llvm::Instruction*> sums = additions(carried, block);
      if (sums.size() < 2) continue;
      bits += carried.getType()->getPrimitiveSizeInBits().getFixedValue();
      inner.insert(inner.end(), sums.begin(), sums.end() - 1);
    }
    if (2 * bits < uint64_t{registers_} * vector_bits_) continue;
    for (llvm::Instruction* sum : inner) keep(*sum);
    any = true;
  }
  if (!any) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tw::codegen
