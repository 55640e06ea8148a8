#include "codegen/llvm/shared_divisors.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <numeric>
#include <vector>

namespace tw::codegen {

namespace {

using llvm::Value;

constexpr unsigned kEnough = 4;  // registers that are divided by a number, to be worth its inverse
constexpr double kLeastDivisor = 0x1p-40, kMostDivisor = 0x1p40, kLeastQuotient = 0x1p-62;

using Divisions = std::vector<llvm::BinaryOperator*>;

// The inverse in two parts, in all lanes of a register, and the least quotient that tells that all went well: of a
// divisor that does not let anything be told, NaN.
struct Inverse {
  Value *divisor, *high, *low, *least;
};

unsigned lanes_of(const llvm::BinaryOperator& division) {
  return llvm::cast<llvm::FixedVectorType>(division.getType())->getNumElements();
}

Value* fused(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

// Behind what gives the divisor.
llvm::BasicBlock::iterator behind(Value* divisor, llvm::Function& function) {
  if (auto* given = llvm::dyn_cast<llvm::Instruction>(divisor))
    if (const auto next = given->getInsertionPointAfterDef()) return *next;
  return function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
}

Inverse inverse_of(llvm::IRBuilder<>& b, Value* divisor, unsigned lanes) {
  const auto number = [&](double value) { return llvm::ConstantFP::get(b.getFloatTy(), value); };
  Value* high = b.CreateFDiv(number(1), divisor);
  Value* low = b.CreateFMul(fused(b, b.CreateFNeg(high), divisor, number(1)), high);
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, divisor);
  Value* within =
      b.CreateAnd(b.CreateFCmpOGE(size, number(kLeastDivisor)), b.CreateFCmpOLE(size, number(kMostDivisor)));
  Value* least = b.CreateSelect(within, number(kLeastQuotient), llvm::ConstantFP::getNaN(b.getFloatTy()));
  const auto all = [&](Value* x) { return b.CreateVectorSplat(lanes, x); };
  return {all(divisor), all(high), all(low), all(least)};
}

// The quotients of one register, before `division`.
Value* divide(Value* x, const Inverse& by, unsigned lanes, llvm::BinaryOperator* division) {
  llvm::IRBuilder<> b(division);
  Value* q = fused(b, x, by.high, b.CreateFMul(x, by.low));
  Value* y = fused(b, fused(b, b.CreateFNeg(q), by.divisor, x), by.high, q);
  Value* told = b.CreateFCmpOGE(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y), by.least);
  Value* some_not =
      b.CreateICmpNE(b.CreateBitCast(told, b.getIntNTy(lanes)), llvm::Constant::getAllOnesValue(b.getIntNTy(lanes)));
  llvm::BasicBlock* before = division->getParent();
  llvm::MDNode* seldom = llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights();
  llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(some_not, division->getIterator(), false, seldom);
  Value* exact = llvm::IRBuilder<>(end).CreateFDiv(x, by.divisor);
  llvm::IRBuilder<> behind(division);
  llvm::PHINode* result = behind.CreatePHI(y->getType(), 2);
  result->addIncoming(y, before);
  result->addIncoming(exact, end->getParent());
  return result;
}

void replace(llvm::BinaryOperator* division, const Inverse& by, unsigned lanes) {
  std::vector<Value*> quotients;
  // Lanes that nobody loaded may have no value, on which no branch may depend.
  Value* dividend = llvm::IRBuilder<>(division).CreateFreeze(division->getOperand(0));
  for (unsigned first = 0; first < lanes_of(*division); first += lanes) {
    std::vector<int> places(lanes);
    std::iota(places.begin(), places.end(), static_cast<int>(first));
    Value* x = dividend;
    if (lanes_of(*division) > lanes) x = llvm::IRBuilder<>(division).CreateShuffleVector(x, places);
    quotients.push_back(divide(x, by, lanes, division));
  }
  llvm::IRBuilder<> b(division);
  division->replaceAllUsesWith(llvm::concatenateVectors(b, quotients));
  division->eraseFromParent();
}

// Whether the inverse is used often enough: in a loop that the divisor is not computed in, or by enough registers.
bool is_worth(Value* divisor, const Divisions& divisions, unsigned lanes, const llvm::LoopInfo& loops) {
  const auto* given = llvm::dyn_cast<llvm::Instruction>(divisor);
  unsigned registers = 0;
  for (const llvm::BinaryOperator* division : divisions) {
    const llvm::Loop* loop = loops.getLoopFor(division->getParent());
    if (loop && !(given && loop->contains(given))) return true;
    registers += lanes_of(*division) / lanes;
  }
  return registers >= kEnough;
}

}  // namespace

llvm::PreservedAnalyses SharedDivisorsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::MapVector<Value*, Divisions> of_divisors;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* division = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (!division || division->getOpcode() != llvm::Instruction::FDiv) continue;
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(division->getType());
    if (!type || !type->getElementType()->isFloatTy() || type->getNumElements() % lanes_ != 0) continue;
    if (Value* divisor = llvm::getSplatValue(division->getOperand(1))) of_divisors[divisor].push_back(division);
  }
  std::vector<std::pair<Value*, Divisions>> worth;
  for (const auto& [divisor, divisions] : of_divisors)
    if (is_worth(divisor, divisions, lanes_, loops)) worth.emplace_back(divisor, divisions);
  for (const auto& [divisor, divisions] : worth) {
    llvm::IRBuilder<> b(function.getContext());
    const llvm::BasicBlock::iterator at = behind(divisor, function);
    b.SetInsertPoint(at->getParent(), at);
    const Inverse by = inverse_of(b, divisor, lanes_);
    for (llvm::BinaryOperator* division : divisions) replace(division, by, lanes_);
  }
  return worth.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace tw::codegen
