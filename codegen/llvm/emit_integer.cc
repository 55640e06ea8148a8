// Integer division. x / 0 and x % 0 are 0, MIN / -1 wraps to MIN and MIN % -1 is 0; nothing traps.
//
// Three forms, cheapest first: operands that are known not to be negative (most subscripts), a constant divisor, and
// the general case, which replaces the divisors 0 and -1 before it divides.
#include "codegen/llvm/emitter.h"

namespace tw::codegen {

using ir::BinOp;
using llvm::Value;

namespace {

bool is_modulo(BinOp op) { return op == BinOp::kFloorMod || op == BinOp::kTruncMod; }
bool is_floor(BinOp op) { return op == BinOp::kFloorDiv || op == BinOp::kFloorMod; }

}  // namespace

Value* Emitter::emit_division(const ir::Binary& binary) {
  const ir::Type type = binary.a.type();
  TW_CHECK(type.is_integer(), "integer division of " + ir::to_string(type));
  Value* a = emit(binary.a);
  if (auto divisor = ir::as_int(binary.b)) {
    if (type.is_index() && *divisor > 0 && ir::interval_of(binary.a, bounds_).lo >= 0)
      return emit_nonnegative_division(binary, a, emit(binary.b));
    return emit_constant_division(binary, a, *divisor);
  }
  Value* b = emit(binary.b);
  if (type.is_index() && ir::interval_of(binary.a, bounds_).lo >= 0 && ir::interval_of(binary.b, bounds_).lo > 0)
    return emit_nonnegative_division(binary, a, b);
  return emit_checked_division(binary, a, b);
}

Value* Emitter::emit_nonnegative_division(const ir::Binary& binary, Value* a, Value* b) {
  return is_modulo(binary.op) ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
}

Value* Emitter::emit_constant_division(const ir::Binary& binary, Value* a, int64_t divisor) {
  const ir::Type type = binary.a.type();
  const bool modulo = is_modulo(binary.op);
  llvm::Value* zero = emit_constant(type, 0);
  if (divisor == 0) return zero;
  Value* b = emit_constant(type, divisor);
  if (type.is_uint()) return emit_nonnegative_division(binary, a, b);
  if (divisor == -1) return modulo ? zero : b_.CreateNeg(a);
  if (is_floor(binary.op) && divisor > 0 && (divisor & (divisor - 1)) == 0) {
    if (modulo) return b_.CreateAnd(a, emit_constant(type, divisor - 1));
    return b_.CreateAShr(a, emit_constant(type, __builtin_ctzll(static_cast<uint64_t>(divisor))));
  }
  Value* remainder = b_.CreateSRem(a, b);
  if (!is_floor(binary.op)) return modulo ? remainder : b_.CreateSDiv(a, b);
  Value* wrong_sign = divisor > 0 ? b_.CreateICmpSLT(remainder, zero) : b_.CreateICmpSGT(remainder, zero);
  if (modulo) return b_.CreateSelect(wrong_sign, b_.CreateAdd(remainder, b), remainder);
  return b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(wrong_sign, a->getType()));
}

Value* Emitter::emit_checked_division(const ir::Binary& binary, Value* a, Value* b) {
  const ir::Type type = binary.a.type();
  const bool modulo = is_modulo(binary.op);
  Value* zero = emit_constant(type, 0);
  Value* one = emit_constant(type, 1);
  Value* by_zero = b_.CreateICmpEQ(b, zero);
  if (type.is_uint()) {
    Value* safe = b_.CreateSelect(by_zero, one, b);
    return modulo ? b_.CreateURem(a, safe) : b_.CreateSelect(by_zero, zero, b_.CreateUDiv(a, safe));
  }
  Value* by_minus_one = b_.CreateICmpEQ(b, emit_constant(type, -1));
  Value* safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, b);
  Value* remainder = b_.CreateSRem(a, safe);
  Value* quotient = b_.CreateSDiv(a, safe);
  if (is_floor(binary.op)) {
    Value* differ = b_.CreateICmpSLT(b_.CreateXor(remainder, safe), zero);
    Value* wrong_sign = b_.CreateAnd(b_.CreateICmpNE(remainder, zero), differ);
    remainder = b_.CreateSelect(wrong_sign, b_.CreateAdd(remainder, safe), remainder);
    quotient = b_.CreateAdd(quotient, b_.CreateSExt(wrong_sign, a->getType()));
  }
  if (modulo) return remainder;
  return b_.CreateSelect(by_zero, zero, b_.CreateSelect(by_minus_one, b_.CreateNeg(a), quotient));
}

}  // namespace tw::codegen
