// Elementwise functions.
#include <cmath>
#include <sstream>

#include "src/ir/typing.h"
#include "te/dtype.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te.h"
#include "tensorwright/te_functions.h"

namespace tw::te {

using ir::BinOp;
using ir::Fn;

namespace {

constexpr int64_t kLargestWrittenOut = 8;  // of the powers of an axis, which stay subscripts as products

Expr of_float(Fn fn, Expr e) {
  if (!e.type().is_float()) {
    refuse(ErrorKind::kDType,
           ir::name_of(fn) + ": expected a float, not " + short_text(e) + " of " + dtype_name(e.type()),
           {"e.astype(\"float32\") converts"});
  }
  return ir::call(fn, {std::move(e)});
}

double before_one_half(Type type) { return 0.5 - std::ldexp(0.5, -ir::significand_bits(type)); }

void refuse_storage(const std::string& what, const Expr& e) {
  if (e.type().is_storage())
    refuse(ErrorKind::kDType,
           what + ": expected a number to calculate with, not " + short_text(e) + " of " + dtype_name(e.type()),
           {way_out_of_storage(e.type())});
}

Expr of_bits(Fn fn, Expr e) {
  e = as_data(std::move(e));
  refuse_storage(ir::name_of(fn), e);
  if (!e.type().is_int() && !e.type().is_uint()) {
    refuse(ErrorKind::kDType,
           ir::name_of(fn) + ": expected an integer, not " + short_text(e) + " of " + dtype_name(e.type()),
           {"te.reinterpret(\"int32\", e) gives the bits of a float32"});
  }
  return ir::call(fn, {std::move(e)});
}

// Integers are whole already.
Expr rounding(Fn fn, Expr e) { return e.type().is_integer() ? std::move(e) : of_float(fn, std::move(e)); }

void check_condition(const char* what, const Expr& e) {
  if (e.type().is_bool()) return;
  refuse(ErrorKind::kDType, std::string(what) + ": condition must be bool, not " + dtype_name(e.type()),
         {"compare it: " + short_text(e) + " != 0"});
}

Expr choose(const char* what, Expr cond, Expr yes, Expr no) {
  check_condition(what, cond);
  promote(yes, no);
  if (const auto* known = ir::as<ir::IntImm>(cond)) return known->value != 0 ? yes : no;
  return ir::select(std::move(cond), std::move(yes), std::move(no));
}

Expr combine(const char* what, BinOp op, const std::vector<Expr>& conditions) {
  if (conditions.empty()) refuse(ErrorKind::kExpr, std::string(what) + ": expected at least one condition");
  for (const Expr& c : conditions) check_condition(what, c);
  Expr result = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) result = arith(op, std::move(result), conditions[i]);
  return result;
}

}  // namespace

Expr max(Expr a, Expr b) { return arith(BinOp::kMax, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return arith(BinOp::kMin, std::move(a), std::move(b)); }
Expr exp(Expr e) { return of_float(Fn::kExp, std::move(e)); }
Expr log(Expr e) { return of_float(Fn::kLog, std::move(e)); }
Expr tanh(Expr e) { return of_float(Fn::kTanh, std::move(e)); }
Expr sigmoid(Expr e) { return of_float(Fn::kSigmoid, std::move(e)); }
Expr erf(Expr e) { return of_float(Fn::kErf, std::move(e)); }
Expr sqrt(Expr e) { return of_float(Fn::kSqrt, std::move(e)); }
Expr rsqrt(Expr e) { return of_float(Fn::kRsqrt, std::move(e)); }
Expr sin(Expr e) { return of_float(Fn::kSin, std::move(e)); }
Expr cos(Expr e) { return of_float(Fn::kCos, std::move(e)); }
Expr tan(Expr e) { return of_float(Fn::kTan, std::move(e)); }
Expr atan(Expr e) { return of_float(Fn::kAtan, std::move(e)); }
Expr log2(Expr e) { return of_float(Fn::kLog2, std::move(e)); }
Expr exp2(Expr e) { return of_float(Fn::kExp2, std::move(e)); }
Expr log10(Expr e) { return of_float(Fn::kLog10, std::move(e)); }
Expr expm1(Expr e) { return of_float(Fn::kExpm1, std::move(e)); }
Expr log1p(Expr e) { return of_float(Fn::kLog1p, std::move(e)); }
Expr cbrt(Expr e) { return of_float(Fn::kCbrt, std::move(e)); }
Expr popcount(Expr e) { return of_bits(Fn::kPopcount, std::move(e)); }
Expr clz(Expr e) { return convert(Type::i(32), of_bits(Fn::kClz, std::move(e))); }
Expr isnan(Expr e) { return e.type().is_float() ? ir::call(Fn::kIsNan, {std::move(e)}) : ir::boolean(false); }
Expr isinf(Expr e) { return e.type().is_float() ? ir::call(Fn::kIsInf, {std::move(e)}) : ir::boolean(false); }
Expr floor(Expr e) { return rounding(Fn::kFloor, std::move(e)); }
Expr ceil(Expr e) { return rounding(Fn::kCeil, std::move(e)); }
Expr trunc(Expr e) { return rounding(Fn::kTrunc, std::move(e)); }
Expr nearbyint(Expr e) { return rounding(Fn::kRound, std::move(e)); }

Expr tf32(Expr e) {
  e = as_data(std::move(e));
  if (e.type() != Type::f(32)) {
    refuse(ErrorKind::kDType, "tf32: expected float32, not " + short_text(e) + " of " + dtype_name(e.type()),
           {e.type().is_half()
                ? "a " + dtype_name(e.type()) + " has no more than 11 bits: products of it are exact as they are"
                : "e.astype(\"float32\") converts"});
  }
  return ir::call(Fn::kTF32, {std::move(e)});
}

// Halves go away from zero, as in tvm; the IR's round is to even. To what is added is the number before one half: with
// the half itself the number before it would reach 1, and odd numbers of as many bits as the type has the next. The sum
// is of abs(e), so that a product is not fused into it and is rounded first. NaN and zeros come out as they are.
Expr round(Expr e) {
  if (e.type().is_integer()) return e;
  const Expr size = abs(e);
  const Type type = size.type();
  const Expr zero = ir::float_imm(type, 0);
  const Expr whole = trunc(size + ir::float_imm(type, before_one_half(type)));
  return ir::select(e > zero, whole, ir::select(e < zero, whole * ir::float_imm(type, -1), e));
}

Expr abs(Expr e) {
  e = as_data(std::move(e));
  refuse_storage("abs", e);
  if (e.type().is_uint()) return e;
  return e.type().is_int() ? ir::call(Fn::kAbs, {std::move(e)}) : of_float(Fn::kAbs, std::move(e));
}

Expr isfinite(Expr e) {
  if (!e.type().is_float()) return ir::boolean(true);
  return ir::logical_not(ir::binary(BinOp::kOr, isnan(e), isinf(e)));
}

Expr fma(Expr a, Expr b, Expr c) {
  promote(a, b);
  promote(a, c);
  promote(a, b);
  if (!a.type().is_float()) {
    refuse(ErrorKind::kDType, "fma: expected floats, not " + dtype_name(a.type()),
           {"integers round nothing: a * b + c"});
  }
  return ir::call(Fn::kFma, {std::move(a), std::move(b), std::move(c)});
}

Expr reinterpret(std::string_view dtype, Expr e) {
  const Type to = dtype_named(dtype);
  e = as_data(std::move(e));
  const Type from = e.type();
  if (to == from) return e;
  if (to.is_bool() || from.is_bool() || to.is_packed() || to.bits != from.bits) {
    refuse(ErrorKind::kDType,
           "reinterpret: dtype must be a number as wide as " + dtype_name(from) + ", not " + dtype_name(to),
           {"the value: " + short_text(e), "e.astype(dtype) converts values"});
  }
  return ir::reinterpret(to, std::move(e));
}

Expr power(Expr a, Expr b) {
  promote(a, b);
  if (const auto n = ir::as_int(b); n && a.type().is_index() && *n >= 0 && *n <= kLargestWrittenOut) {
    Expr product = *n == 0 ? Expr(1) : a;
    for (int64_t k = 1; k < *n; ++k) product = product * a;
    return product;
  }
  a = as_data(std::move(a));
  b = as_data(std::move(b));
  promote(a, b);
  refuse_storage("power", a);
  if (a.type().is_bool())
    refuse(ErrorKind::kDType, "power: expected numbers, not bool", {"e.astype(\"int32\") converts"});
  if (const auto* exponent = ir::as<ir::FloatImm>(b); exponent && exponent->value == 2) return a * a;
  return ir::call(Fn::kPow, {std::move(a), std::move(b)});
}

Expr divide(Expr a, Expr b) {
  const bool floats = a.type().is_float() || b.type().is_float();
  return arith(floats ? BinOp::kDiv : BinOp::kTruncDiv, std::move(a), std::move(b));
}

Expr if_then_else(Expr cond, Expr yes, Expr no) {
  return choose("if_then_else", std::move(cond), std::move(yes), std::move(no));
}
Expr select(Expr cond, Expr yes, Expr no) { return choose("select", std::move(cond), std::move(yes), std::move(no)); }
Expr all(std::vector<Expr> conditions) { return combine("all", BinOp::kAnd, conditions); }
Expr any(std::vector<Expr> conditions) { return combine("any", BinOp::kOr, conditions); }

Expr constant(double value, std::string_view dtype) {
  const Type type = dtype_named(dtype);
  if (type.is_float8()) return ir::cast(type, constant(ir::round_to(type, value), "float32"));
  const Expr e = ir::imm(type, value);
  const auto* f = ir::as<ir::FloatImm>(e);
  const bool held = f ? std::isfinite(f->value) == std::isfinite(value)
                      : value == std::floor(value) && std::abs(value) < 0x1p63 &&
                            static_cast<double>(ir::as<ir::IntImm>(e)->value) == value;
  if (held) return e;
  std::ostringstream text;
  text << value;
  refuse(ErrorKind::kDType, "const: value must be one that " + dtype_name(type) + " holds, not " + text.str());
}

Expr min_value(std::string_view dtype) {
  const Type type = dtype_named(dtype);
  return type.is_float8() ? constant(type.code == ir::TypeCode::kE4M3 ? -448 : -57344, dtype) : ir::type_min(type);
}
Expr max_value(std::string_view dtype) {
  const Type type = dtype_named(dtype);
  return type.is_float8() ? constant(type.code == ir::TypeCode::kE4M3 ? 448 : 57344, dtype) : ir::type_max(type);
}

}  // namespace tw::te
