#include "codegen/llvm/offsets_last.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <set>
#include <vector>

namespace tw::codegen {

namespace {

constexpr size_t kFewPointers = 8;  // which stay in registers

// What was made of a pointer and a constant in an earlier block, where the access goes on from there by a variable.
const llvm::GetElementPtrInst* lifted(const llvm::GetElementPtrInst& access) {
  const auto* pointer = llvm::dyn_cast<llvm::GetElementPtrInst>(access.getPointerOperand());
  if (!pointer || access.hasAllConstantIndices() || access.getType()->isVectorTy()) return nullptr;
  return pointer->hasAllConstantIndices() && pointer->getParent() != access.getParent() ? pointer : nullptr;
}

// q = p + i and then the constant, in place of (p + constant) + i.
void add_constant_last(llvm::GetElementPtrInst& access, const llvm::GetElementPtrInst& pointer,
                       const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer.getType()), 0);
  if (!pointer.accumulateConstantOffset(layout, offset)) return;
  llvm::IRBuilder<> b(&access);
  const std::vector<llvm::Value*> indices(access.idx_begin(), access.idx_end());
  auto* base = const_cast<llvm::Value*>(pointer.getPointerOperand());
  llvm::Value* place = b.CreateGEP(access.getSourceElementType(), base, indices);
  access.replaceAllUsesWith(b.CreatePtrAdd(place, b.getInt(offset)));
  access.eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses OffsetsLastPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  struct Pointers {
    std::set<const llvm::Value*> lifted;
    std::vector<llvm::GetElementPtrInst*> accesses;
  };
  llvm::MapVector<const llvm::Value*, Pointers> of_bases;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* access = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
      if (const llvm::GetElementPtrInst* pointer = lifted(*access)) {
        of_bases[pointer->getPointerOperand()].lifted.insert(pointer);
        of_bases[pointer->getPointerOperand()].accesses.push_back(access);
      }
  for (const auto& [base, pointers] : of_bases)
    if (pointers.lifted.size() > kFewPointers)
      for (llvm::GetElementPtrInst* access : pointers.accesses)
        add_constant_last(*access, *lifted(*access), function.getParent()->getDataLayout());
  return llvm::PreservedAnalyses::none();
}

}  // namespace tw::codegen
