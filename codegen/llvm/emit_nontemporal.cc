// Stores past the caches, to outputs that a schedule calls nontemporal.
//
// x86 has them of whole registers at multiples of their size, which nobody promises of an array or of its rows: the
// address is asked, and a vector goes as registers of the widest, as such of 16 bytes (NumPy's arrays begin 16 bytes
// behind a page), or, where it lies elsewhere, through the caches. The next statement may be done before they are, so
// the function ends with a fence: whoever is told that it has ended sees them. AArch64 has stnp, at any address and
// ordered as every other store.
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"

namespace tw::codegen {

using llvm::Value;

namespace {

constexpr int64_t kSmallest = 16;  // bytes of a register

int64_t register_bytes(const Target& target) { return target.has("avx512f") ? 64 : target.has("avx") ? 32 : kSmallest; }

}  // namespace

bool Emitter::emit_nontemporal_store(const Memory& memory, ir::Type type, Value* at, llvm::Align align, Value* value) {
  const int64_t bytes = int64_t{type.bytes()} * type.lanes;
  if (bytes < kSmallest || !std::has_single_bit(static_cast<uint64_t>(bytes))) return false;
  const auto past = [&](Value* stored, llvm::Align multiple) {
    llvm::StoreInst* access = b_.CreateAlignedStore(stored, at, multiple);
    access->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(c_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    mark(access, memory);
  };
  if (!llvm::Triple(module_.getTargetTriple()).isX86()) {
    past(value, align);
    return true;
  }
  llvm::BasicBlock* after = block("written");
  // As words: LLVM has the instruction for some types of elements only.
  auto* words = llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(bytes / 8));
  Value* place = b_.CreatePtrToInt(at, b_.getInt64Ty());
  for (const int64_t multiple : {std::min(bytes, register_bytes(target_)), kSmallest}) {
    llvm::BasicBlock *aligned = block("aligned"), *elsewhere = block("elsewhere");
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(place, index(multiple - 1)), index(0)), aligned, elsewhere);
    b_.SetInsertPoint(aligned);
    past(b_.CreateBitCast(value, words), llvm::Align(static_cast<uint64_t>(multiple)));
    b_.CreateBr(after);
    b_.SetInsertPoint(elsewhere);
    if (multiple == kSmallest) break;
  }
  mark(b_.CreateAlignedStore(value, at, align), memory);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  frame_.fenced = true;
  return true;
}

void Emitter::emit_fence() { b_.CreateCall(compat::intrinsic(module_, llvm::Intrinsic::x86_sse_sfence, {})); }

}  // namespace tw::codegen
