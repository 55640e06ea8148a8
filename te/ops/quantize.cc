// quantize and dequantize:   q = round(x / scale) + zero_point,   x = (q - zero_point) * scale
#include "te/ops/quantize.h"

#include <cmath>

#include "te/dtype.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

const Type kFloat = Type::f(32), kWhole = Type::i(32);

void check_vector(const Site& site, const std::string& option, const Tensor& t, Type type, const Expr& channels) {
  site.rank(option, t, 1);
  expect_dtype(site, option, t, type);
  site.same("elements of " + option, t.shape()[0], "channels", channels, {describe(option, t)});
}

bool holds(Type type, int64_t value) {
  const int64_t least = type.is_uint() ? 0 : -(int64_t{1} << (type.bits - 1));
  return value >= least && value - least < int64_t{1} << type.bits;
}

}  // namespace

void check_scale(const Site& site, const std::string& option, const Scale& scale, const Expr& channels) {
  if (const auto* t = std::get_if<Tensor>(&scale)) return check_vector(site, option, *t, kFloat, channels);
  const double value = std::get<double>(scale);
  if (const auto held = static_cast<float>(value); !(held > 0) || !std::isfinite(held))
    site.refuse(ErrorKind::kArgument, option + " must be a positive number, not " + std::to_string(value));
}

void check_zero_point(const Site& site, const std::string& option, const ZeroPoint& zero, Type quantized,
                      const Expr& channels) {
  if (const auto* t = std::get_if<Tensor>(&zero)) return check_vector(site, option, *t, kWhole, channels);
  const int64_t value = std::get<int64_t>(zero);
  if (!holds(quantized, value))
    site.refuse(ErrorKind::kArgument,
                option + " must be a value of " + dtype_name(quantized) + ", not " + std::to_string(value));
}

bool is_zero(const ZeroPoint& zero) { return std::holds_alternative<int64_t>(zero) && std::get<int64_t>(zero) == 0; }

Expr scale_at(const Scale& scale, double factor, const Expr& channel) {
  if (const auto* value = std::get_if<double>(&scale)) return ir::float_imm(kFloat, *value * factor);
  const Expr each = std::get<Tensor>(scale)(channel);
  return factor == 1 ? each : each * ir::float_imm(kFloat, factor);
}

Expr zero_point_at(const ZeroPoint& zero, const Expr& channel, Type type) {
  if (const auto* value = std::get_if<int64_t>(&zero)) return ir::int_imm(type, *value);
  return convert(type, std::get<Tensor>(zero)(channel));
}

// The conversion from float to integer saturates. A sum that a narrow type holds is exact in float32.
Expr rounded(Type type, const Expr& real, const Expr& scale, const Expr& zero_point) {
  const Expr whole = ir::call(ir::Fn::kRound, {divide(real, scale)});
  if (ir::is_int(zero_point, 0)) return convert(type, whole);
  const Type sum = type.bits < 32 ? kFloat : Type::f(64);
  return convert(type, convert(sum, whole) + convert(sum, zero_point));
}

Type quantized_dtype(const Site& site, const std::string& option, const std::string& name) {
  const Type type = site.dtype(option, name);
  const bool fits = (type.is_int() || type.is_uint()) && type.bits >= 8 && type.bits <= (type.is_int() ? 32 : 16);
  if (!fits) site.refuse(ErrorKind::kDType, option + " must be int8, uint8, int16, uint16 or int32, not " + name);
  return type;
}

Tensor quantize(const Tensor& x, QuantizeOptions options, SourceLine where) {
  const Site site{"quantize", std::move(where)};
  expect_float(site, "x", x);
  const Type type = quantized_dtype(site, "dtype", options.dtype);
  const size_t axis = axis_of(site, x.rank(), options.axis);
  check_scale(site, "scale", options.scale, x.shape()[axis]);
  check_zero_point(site, "zero_point", options.zero_point, type, x.shape()[axis]);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& at) {
        return rounded(type, convert(kFloat, x(exprs(at))), scale_at(options.scale, 1, at[axis]),
                       zero_point_at(options.zero_point, at[axis]));
      },
      options.name, {}, site.where);
}

Tensor dequantize(const Tensor& x, DequantizeOptions options, SourceLine where) {
  const Site site{"dequantize", std::move(where)};
  expect_integer(site, "x", x);
  if (x.dtype().bits > 32)
    site.refuse(ErrorKind::kDType, "x must be of integers of at most 32 bits, not " + dtype_name(x.dtype()),
                {describe("x", x)});
  const Type type = site.dtype("dtype", options.dtype);
  if (!type.is_float()) site.refuse(ErrorKind::kDType, "dtype must be one of floats, not " + options.dtype);
  const size_t axis = axis_of(site, x.rank(), options.axis);
  check_scale(site, "scale", options.scale, x.shape()[axis]);
  check_zero_point(site, "zero_point", options.zero_point, x.dtype(), x.shape()[axis]);
  const bool shifted = !is_zero(options.zero_point);
  const Type difference = x.dtype().bits < 32 || (x.dtype() == kWhole && !shifted) ? kWhole : Type::i(64);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& at) {
        Expr whole = convert(difference, x(exprs(at)));
        if (shifted) whole = whole - zero_point_at(options.zero_point, at[axis], difference);
        return convert(type, convert(kFloat, whole) * scale_at(options.scale, 1, at[axis]));
      },
      options.name, {}, site.where);
}

}  // namespace tw::te::ops
