// Control flow: loops, branches, bindings.
#include "codegen/llvm/emitter.h"
#include "src/ir/requirement.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

using ir::Stmt;
using llvm::BasicBlock;
using llvm::Value;

BasicBlock* Emitter::block(const char* name) { return BasicBlock::Create(c_, name, frame_.function); }

void Emitter::emit(const Stmt& stmt) {
  ir::match(
      stmt,                                                //
      [&](const ir::Store& store) { emit_store(store); },  //
      [&](const ir::For& loop) { emit_for(loop); },        //
      [&](const ir::If& branch) { emit_if(branch); },      //
      [&](const ir::Seq& seq) {
        for (const Stmt& s : seq.stmts) emit(s);
      },
      [&](const ir::Allocate& alloc) { emit_allocate(alloc); },  //
      [&](const ir::LetStmt& let) { emit_let(let); },            //
      [&](const ir::Evaluate& e) {
        CacheLevel level(*this);
        if (const auto required = ir::requirement_in(e.value)) {
          leave_if(b_.CreateNot(emit(ir::checked_test(*required))), b_.getInt32(runtime::kErrorSizes));
        } else {
          emit(e.value);
        }
      });
}

void Emitter::emit_let(const ir::LetStmt& let) {
  {
    CacheLevel level(*this);
    frame_.vars[let.var.id()] = emit(let.value);
  }
  if (let.var.type().is_index()) bounds_[let.var.id()] = ir::interval_of(let.value, bounds_);
  emit(let.body);
}

void Emitter::emit_if(const ir::If& branch) {
  BasicBlock* then = block("then");
  BasicBlock* after = block("after");
  BasicBlock* otherwise = branch.otherwise ? block("else") : after;
  {
    CacheLevel level(*this);
    b_.CreateCondBr(emit(branch.cond), then, otherwise);
  }
  b_.SetInsertPoint(then);
  emit(branch.then);
  b_.CreateBr(after);
  if (branch.otherwise) {
    b_.SetInsertPoint(otherwise);
    emit(branch.otherwise);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

// Vectorized and unrolled loops that lowering left alone run one iteration after the other, and so do parallel loops
// inside a parallel loop: the pool would run them on one thread anyway.
void Emitter::emit_for(const ir::For& loop) {
  const auto extent = ir::as_int(loop.extent);
  if (extent && *extent <= 0) return;
  bounds_[loop.var.id()] = {0, ir::Interval::kPosInf};
  if (const ir::Interval range = ir::interval_of(loop.extent, bounds_); range.hi != ir::Interval::kPosInf)
    bounds_[loop.var.id()].hi = std::max<int64_t>(range.hi - 1, 0);
  if (loop.kind == ir::ForKind::kParallel && !frame_.in_parallel && extent != 1) return emit_parallel(loop);
  Value* end = nullptr;
  {
    CacheLevel level(*this);
    end = emit(loop.extent);
  }
  emit_counted_loop(index(0), end, extent.has_value(), loop.var, loop.body);
}

void Emitter::emit_counted_loop(Value* begin, Value* end, bool known_nonempty, const ir::Var& var, const Stmt& body) {
  BasicBlock* loop = block("loop");
  BasicBlock* after = block("after");
  BasicBlock* before = b_.GetInsertBlock();
  if (known_nonempty)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, var.name());
  i->addIncoming(begin, before);
  frame_.vars[var.id()] = i;
  emit(body);
  Value* next = b_.CreateAdd(i, index(1), "", true, true);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, end), after, loop);
  b_.SetInsertPoint(after);
}

}  // namespace tw::codegen
