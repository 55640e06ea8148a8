// Elements that whole vectors are multiplied with, read a register at a time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tw::codegen {

// Where a product takes one factor from a lane of a register (Abilities::lane_products):
//
//   a = p[0], b = p[1], ...                      v = p[0 : 4]
//   x * splat(a), y * splat(b), ...       ==>    x * splat(v, lane 0), y * splat(v, lane 1), ...
//
// An element that is loaded into all lanes costs an instruction each, which keeps a pipe of the arithmetic busy; lanes
// of a register cost nothing. The same elements are read, and nothing is written between them. Halves that are factors
// as float32 are converted together.
class LaneLoadsPass : public llvm::PassInfoMixin<LaneLoadsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&);
};

}  // namespace tw::codegen
