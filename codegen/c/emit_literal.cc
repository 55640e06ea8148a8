// Constants, in the shortest digits that give the same value back.
#include <bit>
#include <charconv>
#include <cmath>

#include "codegen/c/emitter.h"

namespace tw::codegen {

using ir::Type;

namespace {

bool fits_int(int64_t value) { return value > INT32_MIN && value <= INT32_MAX; }

// The 16 bits of a value that the type holds exactly.
unsigned half_bits(Type type, double value) {
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  if (type.code == ir::TypeCode::kBFloat) return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  if (fraction == 0) return sign;
  if (exponent < -13) return sign | static_cast<unsigned>(std::ldexp(fraction, exponent + 24));
  return sign | (static_cast<unsigned>(exponent + 14) << 10 | (static_cast<unsigned>(std::ldexp(fraction, 11)) - 1024));
}

std::string hex(unsigned bits) {
  char digits[16];
  return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, bits, 16).ptr);
}

}  // namespace

CText CEmitter::emit_constant(Type type, int64_t value) const {
  const int level = value < 0 ? kUnary : kPostfix;
  if (type.bits < 32) return {std::to_string(value), level};
  if (type.is_uint() && type.bits == 32) return {std::to_string(static_cast<uint32_t>(value)) + "u"};
  if (type.bits == 32) return value == INT32_MIN ? CText{"INT32_MIN"} : CText{std::to_string(value), level};
  if (type.is_uint()) {
    const std::string digits = std::to_string(static_cast<uint64_t>(value));
    return value >= 0 && fits_int(value) ? CText{digits, kPostfix, false} : CText{digits + "ull"};
  }
  if (value == INT64_MIN) return {"INT64_MIN"};
  return fits_int(value) ? CText{std::to_string(value), level, false} : CText{std::to_string(value) + "ll", level};
}

CText CEmitter::emit_real(Type type, double value) {
  if (type.is_half()) return {hex(half_bits(type, value))};
  if (!std::isfinite(value)) {
    helpers_.uses_math();
    if (std::isnan(value)) return {"NAN"};
    return value < 0 ? CText{"-INFINITY", kUnary} : CText{"INFINITY"};
  }
  char digits[64];
  char* end = type.bits == 64 ? std::to_chars(digits, digits + sizeof digits, value).ptr
                              : std::to_chars(digits, digits + sizeof digits, static_cast<float>(value)).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type.bits == 32) text += "f";
  return {text, std::signbit(value) ? kUnary : kPostfix};
}

}  // namespace tw::codegen
