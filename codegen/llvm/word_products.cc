#include "codegen/llvm/word_products.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "codegen/llvm/compat.h"

namespace tw::codegen {

namespace {

using llvm::Value;

constexpr unsigned kWord = 16, kBits = 32, kLeastLanes = 4;

llvm::Intrinsic::ID product_of(unsigned lanes) {
  switch (lanes) {
    case 4:
      return llvm::Intrinsic::x86_sse2_pmadd_wd;
    case 8:
      return llvm::Intrinsic::x86_avx2_pmadd_wd;
    default:
      return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
  }
}

class Rewriter {
 public:
  Rewriter(llvm::Function& function, unsigned most_lanes)
      : function_(function), layout_(function.getParent()->getDataLayout()), most_lanes_(most_lanes) {}

  bool run() {
    std::vector<llvm::BinaryOperator*> products;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      if (auto* product = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
        if (product->getOpcode() == llvm::Instruction::Mul && lanes_of(*product) > 0) products.push_back(product);
    bool changed = false;
    for (llvm::BinaryOperator* product : products) changed = replace(product) || changed;
    return changed;
  }

 private:
  // Of one instruction; 0 where registers do not make up the vector.
  unsigned lanes_of(const llvm::BinaryOperator& product) const {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(product.getType());
    if (!type || !type->getElementType()->isIntegerTy(kBits)) return 0;
    const unsigned lanes = std::min(type->getNumElements(), most_lanes_);
    return lanes >= kLeastLanes && (lanes & (lanes - 1)) == 0 && type->getNumElements() % lanes == 0 ? lanes : 0;
  }

  // The number in all lanes, if there is one, tells more than the vector.
  static const Value* known_of(const Value* factor) {
    const Value* splat = llvm::getSplatValue(factor);
    return splat ? splat : factor;
  }
  bool is_word(const Value* factor) const {
    return llvm::ComputeNumSignBits(known_of(factor), layout_) > kBits - kWord;
  }
  bool is_empty_above(const Value* factor) const {
    return llvm::computeKnownBits(known_of(factor), layout_).countMinLeadingZeros() >= kWord;
  }

  // The factor with zeros in the upper halves of its lanes; null where that costs an instruction for each register.
  Value* without_upper(Value* factor) {
    if (is_empty_above(factor)) return factor;
    Value* number = llvm::getSplatValue(factor);
    auto* spread = llvm::dyn_cast<llvm::Instruction>(factor);
    if (!number || !spread) return nullptr;
    Value*& masked = masked_[factor];
    if (!masked) {
      llvm::IRBuilder<> b(spread);
      const auto lanes = llvm::cast<llvm::FixedVectorType>(factor->getType())->getNumElements();
      masked = b.CreateVectorSplat(lanes, b.CreateAnd(number, b.getInt32((1u << kWord) - 1)));
    }
    return masked;
  }

  bool replace(llvm::BinaryOperator* product) {
    Value *a = product->getOperand(0), *b = product->getOperand(1);
    if (!is_word(a) || !is_word(b)) return false;
    Value* left = without_upper(a);
    if (!left) std::swap(a, b), left = without_upper(a);
    if (!left) return false;
    const unsigned lanes = lanes_of(*product), all = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
    llvm::IRBuilder<> at(product);
    auto* words = llvm::FixedVectorType::get(at.getInt16Ty(), 2 * lanes);
    llvm::Function* multiply = compat::intrinsic(*function_.getParent(), product_of(lanes), {});
    std::vector<Value*> parts;
    for (unsigned first = 0; first < all; first += lanes) {
      std::vector<int> places(lanes);
      std::iota(places.begin(), places.end(), static_cast<int>(first));
      const auto part = [&](Value* x) {
        return at.CreateBitCast(all == lanes ? x : at.CreateShuffleVector(x, places), words);
      };
      parts.push_back(at.CreateCall(multiply, {part(left), part(b)}));
    }
    product->replaceAllUsesWith(llvm::concatenateVectors(at, parts));
    product->eraseFromParent();
    return true;
  }

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const unsigned most_lanes_;
  std::map<Value*, Value*> masked_;
};

}  // namespace

llvm::PreservedAnalyses WordProductsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  if (!Rewriter(function, vector_bits_ / kBits).run()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tw::codegen
