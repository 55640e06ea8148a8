// Conversions between types, as ir.h defines them: integers wrap, floats saturate on the way to integers and NaN gives
// 0.
#include <algorithm>
#include <cmath>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "src/ir/typing.h"

namespace tw::codegen {

using ir::Type;
using llvm::Value;

Value* Emitter::emit_cast(Type to, const ir::Expr& expr) {
  const Type from = expr.type();
  Value* value = emit(expr);
  if (from == to) return value;
  if (from.is_half() || to.is_half()) return emit_half_cast(to, from, value);

  llvm::Type* result = value_type(to);
  const bool has_sign = from.is_int() || from.is_index();
  if (to.is_bool()) {
    if (from.is_float()) return b_.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0.0));
    return b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (from.is_float() && to.is_float()) return b_.CreateFPCast(value, result);
  if (to.is_float()) return has_sign ? b_.CreateSIToFP(value, result) : b_.CreateUIToFP(value, result);
  if (from.is_float()) {
    if (from.lanes > 1 && llvm::Triple(target_.triple).isX86()) return emit_saturated(to, from, value);
    const auto id = to.is_uint() ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateCall(compat::intrinsic(module_, id, {result, value->getType()}), {value});
  }
  return has_sign ? b_.CreateSExtOrTrunc(value, result) : b_.CreateZExtOrTrunc(value, result);
}

// For x86 LLVM takes the saturating intrinsics apart lane by lane. In range, by a comparison and a choice that are one
// instruction each, all lanes convert at once; the order of the operands gives the lower end for NaN. Where that is not
// 0, NaN is made 0 while the comparison has as many bits as what it chooses from.
Value* Emitter::emit_saturated(Type to, Type from, Value* value) {
  const int bits = to.is_uint() ? to.bits : to.bits - 1, precision = ir::significand_bits(from);
  const bool exact_end = bits <= precision;
  const double above = std::ldexp(1.0, bits), end = exact_end ? above - 1 : above - std::ldexp(1.0, bits - precision);
  const auto real = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  Value* low = real(to.is_uint() ? 0 : -above);
  Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(value, low), value, low);
  inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, real(end)), inside, real(end));
  if (!to.is_uint()) inside = b_.CreateSelect(b_.CreateFCmpORD(value, value), inside, real(0));
  const bool fits_signed = to.is_int() || to.bits < 32;
  llvm::Type* wide =
      value_type((fits_signed ? Type::i(std::max<int>(32, to.bits)) : Type::u(to.bits)).with_lanes(to.lanes));
  Value* whole = fits_signed ? b_.CreateFPToSI(inside, wide) : b_.CreateFPToUI(inside, wide);
  if (!exact_end) {
    const auto n = static_cast<unsigned>(to.bits);
    const llvm::APInt last = to.is_uint() ? llvm::APInt::getMaxValue(n) : llvm::APInt::getSignedMaxValue(n);
    whole = b_.CreateSelect(b_.CreateFCmpOGE(value, real(above)), llvm::ConstantInt::get(wide, last), whole);
  }
  return b_.CreateTrunc(whole, value_type(to));
}

// Of what was a half: LLVM compares halves in the place of what they are converted to, which few CPUs do, and not in
// vectors.
Value* Emitter::as_computed(Value* value) {
  if (target_.has("fullfp16") || target_.has("avx512fp16")) return value;
  return b_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {value->getType()}, {value});
}

// Only the pair that the target has instructions for; lowering expands the others into integer arithmetic.
Value* Emitter::emit_half_cast(Type to, Type from, Value* value) {
  const Type half = to.is_half() ? to : from;
  const Type other = to.is_half() ? from : to;
  TW_CHECK(other == Type::f(32, other.lanes) && half.code == ir::TypeCode::kFloat && target_.abilities.float16,
           "cast from " + ir::to_string(from) + " to " + ir::to_string(to) + " reached code generation");
  llvm::Type* half_type = b_.getHalfTy();
  if (half.lanes > 1) half_type = llvm::FixedVectorType::get(half_type, half.lanes);
  if (from.is_half()) return as_computed(b_.CreateFPExt(b_.CreateBitCast(value, half_type), value_type(to)));
  return b_.CreateBitCast(b_.CreateFPTrunc(value, half_type), value_type(to));
}

}  // namespace tw::codegen
