// Types as text, and rounding to the float types.
#include <charconv>
#include <cmath>
#include <limits>

#include "tensorwright/ir.h"

namespace tw::ir {
namespace {

struct NamedType {
  std::string_view name;
  Type type;
};

constexpr NamedType kNamedTypes[] = {
    {"bool", Type::boolean()},
    {"index", Type::index()},
    {"int4", Type::i(4)},
    {"uint4", Type::u(4)},
    {"int8", Type::i(8)},
    {"int16", Type::i(16)},
    {"int32", Type::i(32)},
    {"int64", Type::i(64)},
    {"uint8", Type::u(8)},
    {"uint16", Type::u(16)},
    {"uint32", Type::u(32)},
    {"uint64", Type::u(64)},
    {"float16", Type::f(16)},
    {"bfloat16", Type::bf16()},
    {"float32", Type::f(32)},
    {"float64", Type::f(64)},
    {"float8_e4m3fn", Type::e4m3()},
    {"float8_e5m2", Type::e5m2()},
};

// Nearest value with `precision` significant bits and exponents from `min_exponent` on (below it: denormal steps).
double round_mantissa(double value, int precision, int min_exponent, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const int step = exponent - (precision - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  if (std::abs(rounded) <= largest) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace

std::string to_string(Type type) {
  for (const NamedType& named : kNamedTypes) {
    if (named.type != type.element()) continue;
    std::string name(named.name);
    return type.is_scalar() ? name : name + "x" + std::to_string(type.lanes);
  }
  return "type(" + std::to_string(static_cast<int>(type.code)) + ", " + std::to_string(type.bits) + ")";
}

std::optional<Type> parse_type(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789");
  const size_t mark =
      text.starts_with("index") ? text.find('x', 5) : text.find('x', digit == text.npos ? 0 : digit - 1);
  int lanes = 1;
  std::string_view element = text;
  if (mark != std::string_view::npos) {
    element = text.substr(0, mark);
    const std::string_view digits = text.substr(mark + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), lanes);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (lanes < 2 || lanes > std::numeric_limits<uint16_t>::max()) return std::nullopt;
  }
  for (const NamedType& named : kNamedTypes) {
    if (named.name == element) return named.type.with_lanes(lanes);
  }
  return std::nullopt;
}

double round_to(Type type, double value) {
  if (type.code == TypeCode::kE4M3) {
    const double rounded = round_mantissa(value, 4, -6, 448);
    return std::isinf(rounded) ? std::copysign(std::numeric_limits<double>::quiet_NaN(), value) : rounded;
  }
  if (type.code == TypeCode::kE5M2) return round_mantissa(value, 3, -14, 57344);
  if (type.code == TypeCode::kBFloat) return round_mantissa(value, 8, -126, 0x1.fep127);
  if (type.bits == 16) return round_mantissa(value, 11, -14, 65504);
  if (type.bits == 32) return static_cast<double>(static_cast<float>(value));
  return value;
}

}  // namespace tw::ir
