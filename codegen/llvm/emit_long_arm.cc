// The arm of a select that takes long, and that few lanes want.
//
//   select(c, yes, no), lanes of c     ==>     yes; if not all of c: select(c, yes, no)
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/emitter.h"

namespace tw::codegen {

using llvm::Value;

Value* Emitter::emit_long_arm(const ir::Select& select) {
  if (select.cond.type().is_scalar()) return emit_branches(select.cond, select.yes, select.no);
  Value* cond = emit(select.cond);
  Value* yes = emit(select.yes);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *some = block("some"), *after = block("join");
  b_.CreateCondBr(b_.CreateAndReduce(cond), after, some, llvm::MDBuilder(b_.getContext()).createBranchWeights(1000, 1));
  b_.SetInsertPoint(some);
  Value* chosen = nullptr;
  {
    CacheLevel level(*this);
    chosen = b_.CreateSelect(cond, yes, emit(select.no));
  }
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(yes->getType(), 2);
  phi->addIncoming(yes, before);
  phi->addIncoming(chosen, end);
  return phi;
}

}  // namespace tw::codegen
