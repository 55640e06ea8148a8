// x * 2^n by an instruction: of AVX-512, in registers of 512 bits.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"

namespace tw::codegen {

using llvm::Value;

Value* Emitter::emit_scale(ir::Type type, Value* value, Value* times) {
  namespace I = llvm::Intrinsic;
  constexpr int kBits = 512, kCurrentRounding = 4;
  TW_CHECK(target_.abilities.scaling, "scale for a target without it");
  const int lanes = kBits / type.bits, parts = type.lanes / lanes;
  llvm::Function* instruction = compat::intrinsic(
      module_, type.bits == 32 ? I::x86_avx512_mask_scalef_ps_512 : I::x86_avx512_mask_scalef_pd_512, {});
  Value* all = llvm::Constant::getAllOnesValue(b_.getIntNTy(static_cast<unsigned>(lanes)));
  std::vector<Value*> scaled;
  for (int i = 0; i < parts; ++i) {
    Value* x = part(value, i, parts);
    scaled.push_back(b_.CreateCall(instruction, {x, part(times, i, parts), x, all, b_.getInt32(kCurrentRounding)}));
  }
  return llvm::concatenateVectors(b_, scaled);
}

}  // namespace tw::codegen
