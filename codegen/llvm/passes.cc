#include "codegen/llvm/passes.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <optional>
#include <utility>
#include <vector>

#include "codegen/llvm/lane_loads.h"

namespace tw::codegen {

namespace {

llvm::FunctionPassManager function_passes(const Target& target) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));  // register tiles leave memory
  passes.addPass(llvm::EarlyCSEPass());                            // the subscripts of unrolled statements repeat
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(  // those that the emitter chose; LICM lifts what copies share
      llvm::LoopFullUnrollPass(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // after LICM: loads out of loops meet
  passes.addPass(llvm::InstCombinePass());
  if (target.abilities.lane_products > 0)
    passes.addPass(LaneLoadsPass());  // of loads that the passes above have merged
  passes.addPass(llvm::DSEPass());    // scratch that nobody reads
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const Target& target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes(target)));
  all.run(module, modules);
}

// A comparison and a choice of scalars, one of which is known not to be NaN, become fmaxf on the way to instructions,
// and no kernel calls a math library. A freeze hides what is known; it costs nothing.
void without_library_extrema(llvm::Module& module) {
  std::vector<llvm::SelectInst*> found;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (!select || !select->getType()->isFloatingPointTy()) continue;
      llvm::Value *a = nullptr, *b = nullptr;
      const auto pattern = llvm::matchSelectPattern(select, a, b);
      const bool extremum = pattern.Flavor == llvm::SPF_FMAXNUM || pattern.Flavor == llvm::SPF_FMINNUM;
      const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select->getCondition());
      if (!extremum || !compare) continue;
      const llvm::Value *x = compare->getOperand(0), *y = compare->getOperand(1);
      const llvm::Value *yes = select->getTrueValue(), *no = select->getFalseValue();
      if ((yes == x && no == y) || (yes == y && no == x)) found.push_back(select);
    }
  for (llvm::SelectInst* select : found) {
    auto* compare = llvm::cast<llvm::FCmpInst>(select->getCondition());
    llvm::IRBuilder<> b(select);
    llvm::Value* x = b.CreateFreeze(compare->getOperand(0));
    llvm::Value* y = b.CreateFreeze(compare->getOperand(1));
    const bool in_order = select->getTrueValue() == compare->getOperand(0);
    llvm::Value* condition = b.CreateFCmp(compare->getPredicate(), x, y);
    select->replaceAllUsesWith(b.CreateSelect(condition, in_order ? x : y, in_order ? y : x));
    select->eraseFromParent();
  }
}

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

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const Target& target, int opt_level) {
  if (opt_level > 0) {
    run_passes(module, machine, target);
    without_library_extrema(module);
  }
  store_single_lanes(module);
  divide_bytes_as_words(module);
}

}  // namespace tw::codegen
