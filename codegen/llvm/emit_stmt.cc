// Control flow: sequences, loops, branches, bindings.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/signed_dots.h"
#include "src/ir/requirement.h"
#include "src/ir/walk.h"
#include "tensorwright/kernel_abi.h"

namespace tw::codegen {

using ir::Stmt;
using llvm::BasicBlock;
using llvm::Value;

BasicBlock* Emitter::block(const char* name) { return BasicBlock::Create(c_, name, frame_.function); }

void Emitter::emit(const Stmt& stmt) {
  const OnLineOf here(*this, stmt);
  if (begins_tiles(stmt)) return with_tiles(stmt, [&] { emit(stmt); });
  const bool straight = ir::as<ir::Store>(stmt) || ir::as<ir::Seq>(stmt) || ir::as<ir::Evaluate>(stmt);
  if (!straight) frame_.tiles.held.clear();
  ir::match(
      stmt,                                                      //
      [&](const ir::Store& store) { emit_store(store); },        //
      [&](const ir::For& loop) { emit_for(loop); },              //
      [&](const ir::If& branch) { emit_if(branch); },            //
      [&](const ir::Seq& seq) { emit_sequence(seq.stmts); },     //
      [&](const ir::Allocate& alloc) { emit_allocate(alloc); },  //
      [&](const ir::LetStmt& let) { emit_let(let); },            //
      [&](const ir::Evaluate& e) {
        CacheLevel level(*this);
        if (const auto required = ir::requirement_in(e.value)) {
          leave_if(b_.CreateNot(emit(ir::checked_test(*required))), b_.getInt32(TW_ERROR_SIZES));
        } else {
          emit(e.value);
        }
      },
      [](const ir::Sync&) { TW_CHECK(false, "a barrier in a kernel of the host"); });
  if (!straight) frame_.tiles.held.clear();
}

void Emitter::emit_sequence(std::span<const Stmt> stmts) {
  while (!stmts.empty()) {
    if (const size_t sums = emit_sums(stmts)) {
      stmts = stmts.subspan(sums);
      continue;
    }
    const auto tile = static_cast<size_t>(tile_of(stmts));
    const std::vector<std::vector<Stmt>> groups = tile > 0 ? std::vector<std::vector<Stmt>>{} : interleaved_of(stmts);
    size_t count = std::max<size_t>(tile, 1);
    if (tile > 0) {
      emit_tile(stmts.first(tile));
    } else if (groups.empty()) {
      emit(stmts[0]);
    } else {
      count = 0;
      for (const std::vector<Stmt>& group : groups) emit_interleaved(group), count += group.size();
    }
    stmts = stmts.subspan(count);
  }
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
  const ir::Bounds outside = bounds_;
  const auto emit_arm = [&](BasicBlock* at, const Stmt& arm, const ir::Expr& holds) {
    b_.SetInsertPoint(at);
    bounds_ = ir::bounds_where(holds, outside);
    emit(arm);
    b_.CreateBr(after);
    bounds_ = outside;
  };
  emit_arm(then, branch.then, branch.cond);
  if (branch.otherwise) {
    frame_.tiles.held.clear();
    emit_arm(otherwise, branch.otherwise, ir::logical_not(branch.cond));
  }
  b_.SetInsertPoint(after);
}

namespace {

// Whether a short loop of few stores reads vectors that the loop around it reads again in each iteration: once it is
// written out they stay in registers, half of which may go to them.
bool keeps_registers(const ir::For& loop, int64_t extent, const ir::Var& around) {
  constexpr int64_t kIterations = 8, kStores = 4, kVectors = 16;
  if (extent < 2 || extent > kIterations) return false;
  int64_t stores = 0, kept = 0;
  bool straight = true;
  ir::walk(
      loop.body,
      [&](const Stmt& at) {
        straight = straight && (ir::as<ir::Store>(at) || ir::as<ir::Seq>(at));
        stores += ir::as<ir::Store>(at) != nullptr;
        return straight;
      },
      [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        kept += load && e.type().lanes > 1 && ir::uses_var(e, loop.var) && !ir::uses_var(e, around);
        return true;
      });
  return straight && stores <= kStores && kept > 0 && kept * extent <= kVectors;
}

}  // namespace

// Vectorized and unrolled loops that lowering left alone run one iteration after the other, and so do parallel loops
// inside a parallel loop: the pool would run them on one thread anyway.
void Emitter::emit_for(const ir::For& loop) {
  const auto extent = ir::as_int(loop.extent);
  if (extent && *extent <= 0) return;
  bounds_[loop.var.id()] = {0, ir::Interval::kPosInf};
  if (const ir::Interval range = ir::interval_of(loop.extent, bounds_); range.hi != ir::Interval::kPosInf)
    bounds_[loop.var.id()].hi = std::max<int64_t>(range.hi - 1, 0);
  if (runs_concurrently(loop.kind) && !frame_.in_parallel && extent != 1) return emit_parallel(loop);
  if (const std::optional<OtherSigns> signs = other_signs())
    if (const std::optional<Stmt> corrected = with_other_signs(loop, *signs)) return emit(*corrected);
  Value* end = nullptr;
  {
    CacheLevel level(*this);
    end = emit(loop.extent);
  }
  std::vector<ir::Expr> sums = sums_of({&loop.body, 1}, &loop.var);
  const bool keeps = !sums.empty();
  if (keeps) begin_sums(std::move(sums));
  const std::optional<ir::Var> around = std::exchange(frame_.loop, loop.var);
  llvm::Instruction* latch = emit_counted_loop(index(0), end, extent.has_value(), loop);
  if (extent && around && keeps_registers(loop, *extent, *around))
    latch->setMetadata(llvm::LLVMContext::MD_loop, written_out());
  frame_.loop = around;
  if (keeps) end_sums();
}

// The fact of a loop that passes.cc writes out.
llvm::MDNode* Emitter::written_out() {
  llvm::MDNode* full = llvm::MDNode::get(c_, llvm::MDString::get(c_, "llvm.loop.unroll.full"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(c_, {nullptr, full});
  loop->replaceOperandWith(0, loop);
  return loop;
}

llvm::Instruction* Emitter::emit_counted_loop(Value* begin, Value* end, bool known_nonempty, const ir::For& around) {
  const ir::BoundsInside inside(bounds_, around.extent);
  BasicBlock* loop = block("loop");
  BasicBlock* after = block("after");
  BasicBlock* before = b_.GetInsertBlock();
  if (known_nonempty)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, around.var.name());
  i->addIncoming(begin, before);
  frame_.vars[around.var.id()] = i;
  emit(around.body);
  Value* next = b_.CreateAdd(i, index(1), "", true, true);
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::Instruction* latch = b_.CreateCondBr(b_.CreateICmpEQ(next, end), after, loop);
  b_.SetInsertPoint(after);
  return latch;
}

}  // namespace tw::codegen
