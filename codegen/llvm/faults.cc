#include "codegen/llvm/faults.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace tw::codegen {

namespace {

// The only lane of a constant mask, if it has one.
std::optional<unsigned> single_lane(const llvm::Constant& mask) {
  std::optional<unsigned> found;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask.getType());
  for (unsigned lane = 0; type && lane < type->getNumElements(); ++lane) {
    const llvm::Constant* wanted = mask.getAggregateElement(lane);
    if (!wanted || (!wanted->isOneValue() && !wanted->isNullValue())) return {};
    if (wanted->isNullValue()) continue;
    if (found) return {};
    found = lane;
  }
  return found;
}

// LLVM 22 stores such a lane as wide as it was before a truncation (llvm-project issue 179489). To go with LLVM 22.
void store_single_lanes(llvm::Module& module) {
  std::vector<std::pair<llvm::IntrinsicInst*, unsigned>> found;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      const auto* mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(store->arg_size() - 1));
      if (const auto lane = mask ? single_lane(*mask) : std::nullopt) found.emplace_back(store, *lane);
    }
  for (const auto& [store, lane] : found) {
    llvm::IRBuilder<> b(store);
    llvm::Value* value = b.CreateExtractElement(store->getArgOperand(0), lane);
    llvm::Value* place = b.CreateConstInBoundsGEP1_64(value->getType(), store->getArgOperand(1), lane);
    b.CreateAlignedStore(value, place, llvm::Align(1))->copyMetadata(*store);
    store->eraseFromParent();
  }
}

// LLVM 19 and 22 lose the quotient of a short vector of bytes where it is turned round and multiplied: with AVX2 the
// product is 0. In wider lanes they divide right. To go when tests/unit/codegen_values_test.cc passes without.
void divide_bytes_as_words(llvm::Module& module) {
  constexpr unsigned kLanes = 16;  // of a register
  std::vector<llvm::BinaryOperator*> found;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* divided = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
      if (divided && divided->isIntDivRem() && type && type->getElementType()->isIntegerTy(8) &&
          type->getNumElements() < kLanes)
        found.push_back(divided);
    }
  for (llvm::BinaryOperator* divided : found) {
    llvm::IRBuilder<> b(divided);
    const auto operation = divided->getOpcode();
    const bool is_signed = operation == llvm::Instruction::SDiv || operation == llvm::Instruction::SRem;
    llvm::Type* words = llvm::FixedVectorType::get(
        b.getInt16Ty(), llvm::cast<llvm::FixedVectorType>(divided->getType())->getNumElements());
    const auto wide = [&](unsigned operand) { return b.CreateIntCast(divided->getOperand(operand), words, is_signed); };
    llvm::Value* result = b.CreateBinOp(operation, wide(0), wide(1));
    divided->replaceAllUsesWith(b.CreateTrunc(result, divided->getType()));
    divided->eraseFromParent();
  }
}

constexpr unsigned kBytesMasked = 8, kBytesOfARegister = 16;

// LLVM 19 says the alignment before the mask, LLVM 22 does not.
unsigned mask_of(const llvm::IntrinsicInst& access) {
  return access.arg_size() - (access.getType()->isVoidTy() ? 1 : 2);
}

bool is_masked_eight_bytes(const llvm::IntrinsicInst& access) {
  const bool load = access.getIntrinsicID() == llvm::Intrinsic::masked_load;
  if (!load && access.getIntrinsicID() != llvm::Intrinsic::masked_store) return false;
  const auto* type =
      llvm::dyn_cast<llvm::FixedVectorType>(load ? access.getType() : access.getArgOperand(0)->getType());
  return type && type->getElementType()->isIntegerTy(8) && type->getNumElements() == kBytesMasked &&
         !llvm::isa<llvm::Constant>(access.getArgOperand(mask_of(access)));
}

// Right behind the mask, so that a loop around the accesses does not make it again. The empty statement hides from LLVM
// where the upper half comes from.
llvm::Value* sixteen_lanes(llvm::Value* mask) {
  auto* made = llvm::cast<llvm::Instruction>(mask);  // no function takes a vector
  llvm::IRBuilder<> b(made->getParent(), *made->getInsertionPointAfterDef());
  llvm::Value* bits = b.CreateZExt(b.CreateBitCast(mask, b.getInt8Ty()), b.getInt32Ty());
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false);
  bits = b.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", false), {bits});
  return b.CreateBitCast(b.CreateTrunc(bits, b.getInt16Ty()),
                         llvm::FixedVectorType::get(b.getInt1Ty(), kBytesOfARegister));
}

// LLVM 19 and 22 access them as sixteen with the upper half of the mask cleared; where that mask is spilled they keep
// the one that is not cleared, and touch what lies behind an array. To go when tests/unit/codegen_memory_test.cc passes
// without.
void mask_eight_bytes_as_sixteen(llvm::Module& module) {
  std::vector<llvm::IntrinsicInst*> found;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* access = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); access && is_masked_eight_bytes(*access))
        found.push_back(access);
  std::map<llvm::Value*, llvm::Value*> masks;
  std::vector<int> lanes(kBytesOfARegister);
  std::iota(lanes.begin(), lanes.end(), 0);
  for (llvm::IntrinsicInst* access : found) {
    llvm::Value* mask = access->getArgOperand(mask_of(*access));
    const auto [wide, is_new] = masks.try_emplace(mask);
    if (is_new) wide->second = sixteen_lanes(mask);
    llvm::IRBuilder<> b(access);
    const auto widened = [&](unsigned operand) { return b.CreateShuffleVector(access->getArgOperand(operand), lanes); };
    llvm::CallInst* made = nullptr;
    if (access->getType()->isVoidTy()) {
      made = b.CreateMaskedStore(widened(0), access->getArgOperand(1), llvm::Align(1), wide->second);
    } else {
      llvm::Value* other = widened(mask_of(*access) + 1);
      made = b.CreateMaskedLoad(other->getType(), access->getArgOperand(0), llvm::Align(1), wide->second, other);
      access->replaceAllUsesWith(b.CreateShuffleVector(made, llvm::ArrayRef(lanes).take_front(kBytesMasked)));
    }
    made->copyMetadata(*access);
    access->eraseFromParent();
  }
}

}  // namespace

void avoid_faults(llvm::Module& module, const Target& target) {
  store_single_lanes(module);
  divide_bytes_as_words(module);
  if (target.has("avx512dq")) mask_eight_bytes_as_sixteen(module);
}

}  // namespace tw::codegen
