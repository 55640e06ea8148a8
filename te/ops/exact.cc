#include "te/ops/exact.h"

#include <cmath>

namespace tw::te::ops {

std::optional<ir::Expr> exact(ir::Type type, Number value) {
  if (type.is_float()) return ir::imm(type, static_cast<double>(value));
  const int digits = type.is_bool() ? 1 : type.bits - (type.is_int() ? 1 : 0);
  const Number end = std::ldexp(Number{1}, digits);
  const bool held = value >= (type.is_int() ? -end : 0) && value < end && value == std::floor(value);
  if (!held) return std::nullopt;
  return ir::int_imm(type,
                     value < 0 ? static_cast<int64_t>(value) : static_cast<int64_t>(static_cast<uint64_t>(value)));
}

}  // namespace tw::te::ops
