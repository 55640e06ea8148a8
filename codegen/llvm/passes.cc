#include "codegen/llvm/passes.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace tw::codegen {

namespace {

llvm::FunctionPassManager function_passes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));  // register tiles leave memory
  passes.addPass(llvm::EarlyCSEPass());                            // the subscripts of unrolled statements repeat
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // after LICM: loads out of loops meet
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DSEPass());  // scratch that nobody reads
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int opt_level) {
  if (opt_level == 0) return;
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
  all.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes()));
  all.run(module, modules);
}

}  // namespace tw::codegen
