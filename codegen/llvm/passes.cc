#include "codegen/llvm/passes.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopLoadElimination.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codegen/llvm/faults.h"
#include "codegen/llvm/lane_loads.h"
#include "codegen/llvm/offsets_last.h"
#include "codegen/llvm/one_permutation.h"
#include "codegen/llvm/shared_divisors.h"
#include "codegen/llvm/sums_in_order.h"
#include "codegen/llvm/take_turns.h"
#include "codegen/llvm/word_products.h"
#include "src/target/abilities.h"

namespace tw::codegen {

namespace {

constexpr int kFewRegisters = 16;

// What an iteration has stored and the next one loads, as of a running sum, stays in a register: a load of what has
// just been stored takes longer than the sum. Other loops are not looked at, for that takes time.
struct CarriedValuesPass : llvm::PassInfoMixin<CarriedValuesPass> {
  static bool carries(const llvm::Loop& loop) {
    std::set<const llvm::Value*> loaded, stored;
    for (const llvm::BasicBlock* block : loop.blocks())
      for (const llvm::Instruction& instruction : *block) {
        if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
          loaded.insert(llvm::getUnderlyingObject(load->getPointerOperand()));
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
          stored.insert(llvm::getUnderlyingObject(store->getPointerOperand()));
      }
    return std::ranges::any_of(stored, [&](const llvm::Value* object) { return loaded.contains(object); });
  }

  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const auto loops = analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder();
    const bool any =
        std::ranges::any_of(loops, [](const llvm::Loop* loop) { return loop->isInnermost() && carries(*loop); });
    return any ? llvm::LoopLoadEliminationPass().run(function, analyses) : llvm::PreservedAnalyses::all();
  }
};

// Of a register whose words an x86 CPU multiplies.
int word_bits(const Target& target) {
  const int most = target.has("avx512bw") ? 512 : target.has("avx2") ? 256 : 128;
  return std::min(most, target.abilities.vector_bits);
}

llvm::FunctionPassManager function_passes(const llvm::TargetMachine& machine, const Target& target) {
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
  if (target::adds_one_offset(target)) {
    passes.addPass(OffsetsLastPass());  // of pointers that LICM has lifted
    passes.addPass(llvm::EarlyCSEPass());
  }
  passes.addPass(CarriedValuesPass());
  passes.addPass(llvm::DSEPass());  // scratch that nobody reads
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  if (llvm::Triple(machine.getTargetTriple()).isX86()) {
    passes.addPass(WordProductsPass(word_bits(target)));
    passes.addPass(SumsInOrderPass(target.abilities.vector_registers, word_bits(target)));
  }
  if (target::permutes_bytes(target)) passes.addPass(OnePermutationPass());  // no simplifier comes after it
  if (target::divides_slowly(target)) passes.addPass(SharedDivisorsPass(target.lanes(32)));
  if (target.abilities.vector_registers <= kFewRegisters)
    passes.addPass(TakeTurnsPass(target.abilities.vector_bits));  // last: instructions are emitted as they stand
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
  all.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes(machine, target)));
  all.run(module, modules);
}

// Whether the value may be a signalling NaN: what arithmetic gives is none.
bool may_signal(const llvm::Value* value, std::set<const llvm::Value*>& seen) {
  if (!seen.insert(value).second) return false;
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    const auto* splat = constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(splat);
    return !number || number->isNaN();
  }
  const auto* operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (!operation) return true;
  const auto any_of = [&](auto&& values) {
    return llvm::any_of(values, [&](const llvm::Value* v) { return may_signal(v, seen); });
  };
  switch (operation->getOpcode()) {
    case llvm::Instruction::PHI:
      return any_of(llvm::cast<llvm::PHINode>(operation)->incoming_values());
    case llvm::Instruction::Select:
      return any_of(llvm::drop_begin(operation->operand_values()));
    case llvm::Instruction::Freeze:
      return any_of(operation->operand_values());
    case llvm::Instruction::Call:
      if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(operation)) {
        const llvm::Intrinsic::ID id = intrinsic->getIntrinsicID();
        if (id == llvm::Intrinsic::arithmetic_fence) return any_of(intrinsic->args());
        return id != llvm::Intrinsic::fma && id != llvm::Intrinsic::sqrt;
      }
      return true;
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return false;
    default:
      return true;
  }
}

// A comparison and a choice, one side of which is known not to be NaN, become maxnum on the way to instructions: fmaxf
// for scalars, and no kernel calls a math library; fmaxnm on AArch64, which makes a quiet NaN of a signalling one
// instead of choosing the number. A freeze hides what is known; it costs nothing.
void without_maxnum(llvm::Module& module) {
  std::vector<llvm::SelectInst*> found;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (!select || !select->getType()->isFPOrFPVectorTy()) continue;
      llvm::Value *a = nullptr, *b = nullptr;
      const auto pattern = llvm::matchSelectPattern(select, a, b);
      const bool extremum = pattern.Flavor == llvm::SPF_FMAXNUM || pattern.Flavor == llvm::SPF_FMINNUM;
      const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select->getCondition());
      if (!extremum || !compare) continue;
      const llvm::Value *x = compare->getOperand(0), *y = compare->getOperand(1);
      const llvm::Value *yes = select->getTrueValue(), *no = select->getFalseValue();
      std::set<const llvm::Value*> seen;
      if (!select->getType()->isVectorTy() || may_signal(x, seen) || may_signal(y, seen))
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

// The core for which LLVM orders instructions. By its models of some out-of-order cores it loads the vectors of all
// terms of a tile before their products, and has no registers left: by those of Neoverse cores where vectors are SVE's,
// by those of kryo and of ThunderX, and where it has none (carmel), where they are NEON's. What finds an order of its
// own takes this one; a core of which LLVM knows that it does not keeps its model.
void choose_order(llvm::Module& module, const llvm::TargetMachine& machine, const Target& target) {
  constexpr int kNeonBits = 128;
  if (!machine.getTargetTriple().isAArch64()) return;
  const llvm::MCSchedModel& model = machine.getMCSubtargetInfo()->getSchedModel();
  const bool in_order = model.hasInstrSchedModel() && !model.isOutOfOrder();
  const char* core = target.sve_bits > kNeonBits ? "a64fx" : in_order ? nullptr : "neoverse-v1";
  for (llvm::Function& function : module)
    if (core && !function.isDeclaration()) function.addFnAttr("tune-cpu", core);
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const Target& target, int opt_level) {
  choose_order(module, machine, target);
  if (opt_level > 0) run_passes(module, machine, target);
  without_maxnum(module);
  avoid_faults(module, target);
}

}  // namespace tw::codegen
