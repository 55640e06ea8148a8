// Scratch memory and the way out of a kernel that fails.
//
//   allocate acc: float32[6, 64] local     a slot in the entry block, which LLVM turns into registers when subscripts
//                                          are constants
//   allocate pack: float32[...] global     context->alloc before the body, context->release after it, in reverse order
//
// Whoever returns early (no memory, a parallel body that failed) first releases what this function holds.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "codegen/llvm/emitter.h"
#include "codegen/scratch.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/support/scratch_alignment.h"
#include "tensorwright/kernel_abi.h"

namespace tw::codegen {

using llvm::Value;

namespace {

enum ContextField { kAllocField = 3, kReleaseField = 4 };
constexpr int kDotBits = 128;  // of the sums of a dot product

// Of the sums of dot products that the buffer holds; 0: of none. Where vectors are longer, LLVM would keep two of
// them in one, and take it apart in each iteration.
int dot_lanes(const ir::Allocate& alloc) {
  int lanes = 0;
  ir::walk(
      alloc.body,
      [&](const ir::Stmt& s) {
        const auto* store = ir::as<ir::Store>(s);
        const auto* call = store && store->buffer == alloc.buffer ? ir::as<ir::Call>(store->value) : nullptr;
        if (call && ir::is_dot(call->fn)) lanes = store->value.type().lanes;
        return true;
      },
      [](const ir::Expr&) { return false; });
  return lanes;
}

}  // namespace

Value* Emitter::context_field(int field, llvm::Type* type) {
  auto* context = llvm::StructType::get(c_, {b_.getInt32Ty(), b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy(),
                                             b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy()});
  return b_.CreateLoad(type, b_.CreateStructGEP(context, frame_.context, field));
}

bool Emitter::is_slot(const ir::Allocate& alloc) const {
  const auto elements = known_elements(alloc.buffer);
  return is_private(alloc.buffer.scope()) && elements &&
         fits_on_stack(*elements * alloc.buffer.element().bytes(), frame_.stack_bytes);
}

void Emitter::emit_allocate(const ir::Allocate& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  if (is_slot(alloc)) {
    const auto elements = known_elements(buffer);
    const int64_t bytes = *elements * buffer.element().bytes();
    llvm::BasicBlock& entry = frame_.function->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    auto* slot = at_entry.CreateAlloca(
        llvm::ArrayType::get(memory_type(buffer.element()), static_cast<uint64_t>(std::max<int64_t>(*elements, 1))),
        nullptr, buffer.name());
    slot->setAlignment(llvm::Align(kScratchAlignment));
    frame_.stack_bytes += bytes;
    const int part = target_.sve_bits > kDotBits ? dot_lanes(alloc) : 0;
    frame_.buffers[buffer.id()] = {slot, llvm::Align(kScratchAlignment), nullptr, nullptr, *elements, true, part};
    return emit(alloc.body);
  }
  emit_heap_scratch(alloc, emit_bytes(buffer));
}

// The bytes of a buffer; more than there is memory where the number leaves 64 bits. None of less than no elements.
Value* Emitter::emit_bytes(const ir::Buffer& buffer) {
  CacheLevel level(*this);
  Value* too_large = b_.getFalse();
  Value* bytes = index(buffer.element().bytes());
  for (const ir::Expr& extent : buffer.shape())
    bytes = checked(llvm::Intrinsic::smul_with_overflow, bytes, emit_extent(extent, too_large), too_large);
  bytes = b_.CreateSelect(b_.CreateICmpSGT(bytes, index(0)), bytes, index(1));  // of none: null would mean failure
  return b_.CreateSelect(too_large, b_.getInt64(std::numeric_limits<int64_t>::max()), bytes);
}

// Sums and products, whatever the numbers are.
Value* Emitter::emit_extent(const ir::Expr& extent, Value*& too_large) {
  const auto* b = ir::as<ir::Binary>(extent);
  const bool product = b && b->op == ir::BinOp::kMul, sum = b && b->op == ir::BinOp::kAdd;
  if (!product && !sum) return emit(extent);
  Value* left = emit_extent(b->a, too_large);
  Value* right = emit_extent(b->b, too_large);
  const auto operation = product ? llvm::Intrinsic::smul_with_overflow : llvm::Intrinsic::sadd_with_overflow;
  return checked(operation, left, right, too_large);
}

Value* Emitter::checked(llvm::Intrinsic::ID operation, Value* a, Value* b, Value*& too_large) {
  Value* both = b_.CreateBinaryIntrinsic(operation, a, b);
  too_large = b_.CreateOr(too_large, b_.CreateExtractValue(both, 1));
  return b_.CreateExtractValue(both, 0);
}

void Emitter::emit_heap_scratch(const ir::Allocate& alloc, Value* bytes) {
  llvm::Type* pointer = b_.getPtrTy();
  auto* alloc_type = llvm::FunctionType::get(pointer, {pointer, b_.getInt64Ty()}, false);
  auto* release_type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer}, false);
  Value* memory = b_.CreateCall(alloc_type, context_field(kAllocField, pointer), {frame_.context, bytes});
  leave_if(b_.CreateIsNull(memory), b_.getInt32(TW_ERROR_OUT_OF_MEMORY));
  frame_.buffers[alloc.buffer.id()] = memory_of(alloc.buffer, memory, llvm::Align(kScratchAlignment));
  llvm::BasicBlock* outer_way_out = frame_.way_out;
  frame_.way_out = release_on_the_way_out(memory, outer_way_out);
  emit(alloc.body);
  frame_.way_out = outer_way_out;
  b_.CreateCall(release_type, context_field(kReleaseField, pointer), {frame_.context, memory});
}

// The blocks that a failure runs through, innermost scratch first: each releases one and goes on to the next.
llvm::BasicBlock* Emitter::release_on_the_way_out(Value* memory, llvm::BasicBlock* next) {
  llvm::IRBuilder<>::InsertPointGuard stay(b_);
  llvm::BasicBlock* way_out = block("release");
  b_.SetInsertPoint(way_out);
  llvm::Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer}, false);
  b_.CreateCall(type, context_field(kReleaseField, pointer), {frame_.context, memory});
  b_.CreateBr(next);
  return way_out;
}

void Emitter::leave_if(Value* failed, Value* code) {
  llvm::BasicBlock* leave = block("leave");
  llvm::BasicBlock* go_on = block("ok");
  b_.CreateCondBr(failed, leave, go_on);
  b_.SetInsertPoint(leave);
  b_.CreateStore(code, frame_.code);
  b_.CreateBr(frame_.way_out);
  b_.SetInsertPoint(go_on);
}

// The end of every function: whoever comes here without a failure brings 0.
void Emitter::begin_function(llvm::Function* function) {
  frame_.function = function;
  if (lines_) lines_->enter(function);
  b_.SetCurrentDebugLocation(lines_ ? lines_->of({}, function) : llvm::DebugLoc());
  b_.SetInsertPoint(block("entry"));
  frame_.code = b_.CreateAlloca(b_.getInt32Ty(), nullptr, "code");
  b_.CreateStore(b_.getInt32(0), frame_.code);
  frame_.way_out = block("way_out");
}

void Emitter::end_function() {
  b_.CreateBr(frame_.way_out);
  frame_.way_out->moveAfter(&frame_.function->back());
  b_.SetInsertPoint(frame_.way_out);
  if (frame_.fenced) emit_fence();
  b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), frame_.code));
}

}  // namespace tw::codegen
