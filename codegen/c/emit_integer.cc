// Integers: shifts, divisions, and casts between all types.
//
// Where C's own operator has the meaning of ir.h (a divisor that is known not to be 0 or -1, operands that are known
// not to be negative) it is written; elsewhere a helper function is called.
#include <bit>

#include "codegen/c/emitter.h"

namespace tw::codegen {

using ir::BinOp;
using ir::Expr;
using ir::Type;

namespace {

bool narrow(Type type) { return !type.is_bool() && type.is_integer() && type.bits < 32; }

// Whether an int in C can stand for every value of `from`, when `to` is asked for.
bool same_value_as_int(Type from, Type to) {
  const bool has_sign = from.is_int();
  const int bits = from.is_bool() ? 1 : from.bits;
  if (to.is_uint()) return !has_sign && bits < to.bits && to.bits < 32;
  return has_sign ? bits <= to.bits && bits <= 32 : bits < to.bits && bits < 32;
}

}  // namespace

CText CEmitter::emit_shift(const ir::Binary& binary, Need need) {
  const Type type = binary.a.type();
  const bool left = binary.op == BinOp::kShl;
  CText value = emit(binary.a, left && narrow(type) ? Need::kLow : Need::kValue);
  if (type.bits == 64) value = widened(type, value);
  const std::string shifted = value.level < kUnary ? "(" + value.text + ")" : value.text;
  const auto constant = ir::as_int(binary.b);
  const std::string amount = constant ? std::to_string(static_cast<uint64_t>(*constant) % type.bits)
                                      : "(" + in(binary.b, kUnary, narrow(type) ? Need::kLow : Need::kValue) + " & " +
                                            std::to_string(type.bits - 1) + ")";
  const CText out{shifted + (left ? " << " : " >> ") + amount, kShifts};
  return left ? narrowed(type, out, need) : out;
}

CText CEmitter::emit_division(const ir::Binary& binary) {
  const Type type = binary.a.type();
  const auto divisor = ir::as_int(binary.b);
  const bool floors = binary.op == BinOp::kFloorDiv || binary.op == BinOp::kFloorMod;
  const bool modulo = binary.op == BinOp::kFloorMod || binary.op == BinOp::kTruncMod;
  const bool dividend_positive = !type.is_uint() && ir::interval_of(binary.a, bounds_).lo >= 0;
  const bool divisor_positive = divisor ? *divisor > 0 : !type.is_uint() && ir::interval_of(binary.b, bounds_).lo > 0;
  const bool as_in_c = type.is_uint() ? divisor.value_or(0) != 0
                       : floors       ? divisor_positive && dividend_positive
                                      : divisor_positive || divisor.value_or(-1) < -1;
  const auto* sum = ir::as<ir::Binary>(binary.a);
  if (short_indices_ && type.is_index() && binary.op == BinOp::kFloorMod && sum && sum->op == BinOp::kAdd &&
      divisor.value_or(0) > 1 && std::has_single_bit(static_cast<uint64_t>(*divisor))) {
    // Right for any sign, which a device's compiler does not see of a sum.
    const CText dividend = emit(binary.a);
    return {"(" + dividend.text + ") & " + std::to_string(*divisor - 1), kBitwiseAnd, dividend.wide};
  }
  if (!as_in_c) return emit_careful_division(binary, type);
  const CText a = emit(binary.a), b = emit(binary.b);
  const std::string dividend = a.level < kMultiplicative ? "(" + a.text + ")" : a.text;
  const std::string by = b.level <= kMultiplicative ? "(" + b.text + ")" : b.text;
  return {dividend + (modulo ? " % " : " / ") + by, kMultiplicative, a.wide || b.wide};
}

CText CEmitter::emit_careful_division(const ir::Binary& binary, Type type) {
  if (!short_indices_ || !type.is_index()) return {call_text(helpers_.division(binary.op, type), {binary.a, binary.b})};
  const ir::Interval range = ir::interval_of(ir::binary(binary.op, binary.a, binary.b), bounds_);
  const CText a = emit(binary.a), b = emit(binary.b);
  const bool is_short = !a.wide && !b.wide && range.lo >= INT32_MIN && range.hi <= INT32_MAX;
  const std::string function = helpers_.division(binary.op, is_short ? Type::i(32) : type);
  return {function + "(" + a.text + ", " + b.text + ")", kPostfix, !is_short};
}

CText CEmitter::emit_cast(Type to, const Expr& expr, Need need) {
  const Type from = expr.type();
  const auto explicitly = [&](Need operand) {
    return CText{"(" + c_type(to) + ")" + in(expr, kUnary, operand), kUnary};
  };
  if (from == to) return emit(expr, need);
  if (from.is_half() || to.is_half()) {
    const Type other = to.is_half() ? from : to;
    TW_CHECK(other == Type::f(32), "cast from " + ir::to_string(from) + " to " + ir::to_string(to));
    return {call_text(half_cast(from, to), {expr})};
  }
  if (to.is_bool()) return {in(expr, kAdditive) + " != 0", kEquality};
  if (to.is_float()) return explicitly(Need::kValue);
  if (from.is_float()) return {call_text(helpers_.float_to_integer(from, to), {expr})};

  if (from.bits == 64 && to.bits == 64 && !from.is_uint() && !to.is_uint()) return emit(expr, need);  // index
  if (same_value_as_int(from, to)) {
    CText value = emit(expr);
    value.wide = to.bits < 64;
    return value;
  }
  const Need low = narrow(from) && narrow(to) && to.bits <= from.bits ? Need::kLow : Need::kValue;  // of what is there
  return narrow(to) && need == Need::kLow ? emit(expr, low) : explicitly(low);
}

}  // namespace tw::codegen
