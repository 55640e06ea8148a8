#include "codegen/c/helpers.h"

namespace tw::codegen {

using ir::BinOp;
using ir::Type;
using ir::TypeCode;

std::string c_type(Type type) {
  if (type.is_bool() || type.is_float8()) return "uint8_t";
  if (type.is_half()) return "uint16_t";
  if (type.is_float()) return type.bits == 32 ? "float" : "double";
  return (type.is_uint() ? "uint" : "int") + std::to_string(type.bits) + "_t";
}

std::string type_suffix(Type type) {
  if (type.is_bool()) return "bool";
  if (type.is_float8()) return type.code == TypeCode::kE4M3 ? "e4m3" : "e5m2";
  const char* letter = type.code == TypeCode::kBFloat ? "bf" : type.is_float() ? "f" : type.is_uint() ? "u" : "i";
  return letter + std::to_string(type.bits);
}

std::string Helpers::add(const std::string& name, Type result, const std::string& parameters, const std::string& body) {
  if (known_.emplace(name, true).second)
    texts_.push_back(specifiers_ + " " + c_type(result) + " " + name + "(" + parameters + ") {\n" + body + "}\n");
  return name;
}

std::string Helpers::min_max(BinOp op, Type type) {
  const bool min = op == BinOp::kMin;
  const std::string t = c_type(type);
  return add((min ? "min_" : "max_") + type_suffix(type), type, t + " a, " + t + " b",
             std::string("  return a ") + (min ? "<" : ">") + " b ? a : b;\n");
}

// x / 0 and x % 0 are 0, MIN / -1 wraps to MIN and MIN % -1 is 0.
std::string Helpers::division(BinOp op, Type type) {
  const std::string t = c_type(type), pair = t + " a, " + t + " b";
  const bool modulo = op == BinOp::kFloorMod || op == BinOp::kTruncMod;
  const bool floors = op == BinOp::kFloorDiv || op == BinOp::kFloorMod;
  const std::string suffix = type_suffix(type);
  if (type.is_uint())
    return add((modulo ? "mod_" : "div_") + suffix, type, pair,
               std::string("  return b == 0 ? 0 : a ") + (modulo ? "%" : "/") + " b;\n");
  if (!floors && modulo) return add("truncmod_" + suffix, type, pair, "  return b == 0 || b == -1 ? 0 : a % b;\n");
  if (!floors)
    return add("truncdiv_" + suffix, type, pair, "  if (b == 0) return 0;\n  return b == -1 ? -a : a / b;\n");
  if (modulo)
    return add("floormod_" + suffix, type, pair,
               "  if (b == 0 || b == -1) return 0;\n  const " + t +
                   " r = a % b;\n  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n");
  return add("floordiv_" + suffix, type, pair,
             "  if (b == 0) return 0;\n  if (b == -1) return -a;\n"
             "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n");
}

std::string Helpers::integer_abs(Type type) {
  return add("abs_" + type_suffix(type), type, c_type(type) + " a", "  return a < 0 ? -a : a;\n");
}

std::string Helpers::negative(Type type) {
  const Type bits = Type::u(type.bits);
  const std::string there = reinterpret(type, bits), back = reinterpret(bits, type);
  return add(
      "negative_" + type_suffix(type), type, c_type(type) + " x",
      "  return " + back + "(" + there + "(x) ^ " + (type.bits == 32 ? "0x80000000" : "0x8000000000000000") + ");\n");
}

// Truncates, saturates at the ends of the type, 0 for NaN. The bounds are exact in `from`, or round away from 0.
std::string Helpers::float_to_integer(Type from, Type to) {
  const std::string t = c_type(to);
  const std::string prefix = to.is_uint() ? "UINT" : "INT", bits = std::to_string(to.bits);
  const std::string lowest = to.is_uint() ? "0" : "INT" + bits + "_MIN", highest = prefix + bits + "_MAX";
  const std::string real = c_type(from), bound = to.is_uint() ? "0" : "(" + real + ")" + lowest;
  return add(type_suffix(from) + "_to_" + type_suffix(to), to, real + " x",
             "  if (x != x) return 0;\n  if (x <= " + bound + ") return " + lowest + ";\n  return x >= (" + real + ")" +
                 highest + " ? " + highest + " : (" + t + ")x;\n");
}

std::string Helpers::half_cast(Type from, Type to) {
  const std::string bits = "  union { float f; uint32_t u; } x;\n";
  const bool bfloat = (from.is_half() ? from : to).code == TypeCode::kBFloat;
  const std::string name = type_suffix(from) + "_to_" + type_suffix(to);
  if (bfloat && to.is_half())
    return add(name, to, "float value",
               bits +
                   "  x.f = value;\n"
                   "  if (value != value) return 0x7fc0;\n"
                   "  return (uint16_t)((x.u + 0x7fff + ((x.u >> 16) & 1)) >> 16); /* to nearest, ties to even */\n");
  if (bfloat) return add(name, to, "uint16_t half", bits + "  x.u = (uint32_t)half << 16;\n  return x.f;\n");
  if (to.is_half())
    return add(name, to, "float value",
               bits +
                   "  x.f = value;\n"
                   "  const uint32_t sign = (x.u >> 16) & 0x8000;\n"
                   "  x.u &= 0x7fffffff;\n"
                   "  if (x.u > 0x7f800000) return (uint16_t)(sign | 0x7e00); /* NaN */\n"
                   "  if (x.u >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* too large */\n"
                   "  if (x.u < 0x38800000) { /* subnormal: the sum rounds */\n"
                   "    x.f += 0.5f;\n"
                   "    return (uint16_t)(sign | (x.u - 0x3f000000));\n"
                   "  }\n"
                   "  return (uint16_t)(sign | ((x.u - 0x38000000 + 0xfff + ((x.u >> 13) & 1)) >> 13));\n");
  return add(name, to, "uint16_t half",
             bits +
                 "  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;\n"
                 "  x.u = 0x38800000 + ((rest & 0x3ff) << 13);\n"
                 "  if (rest < 0x400) x.f -= 0x1p-14f; /* subnormal */\n"
                 "  else x.u = (rest << 13) + (rest < 0x7c00 ? 0x38000000 : 0x70000000);\n"
                 "  x.u |= sign;\n"
                 "  return x.f;\n");
}

std::string Helpers::count_bits(ir::Fn fn, Type type) {
  const bool zeros = fn == ir::Fn::kClz;
  const std::string bits = c_type(Type::u(type.bits)), start = zeros ? std::to_string(type.bits) : "0";
  return add((zeros ? "clz_" : "popcount_") + type_suffix(type), type, c_type(type) + " value",
             "  int n = " + start + ";\n  for (" + bits + " x = (" + bits + ")value; x != 0; " +
                 (zeros ? "x >>= 1) --n" : "x &= x - 1) ++n") + ";\n  return n;\n");
}

std::string Helpers::classify(ir::Fn fn, Type type) {
  const bool nan = fn == ir::Fn::kIsNan;
  if (!nan) math_ = true;
  return add((nan ? "isnan_" : "isinf_") + type_suffix(type), Type::boolean(), c_type(type) + " x",
             nan ? "  return x != x;\n" : "  return x == INFINITY || x == -INFINITY;\n");
}

std::string Helpers::scale(Type type) {
  math_ = true;
  const std::string name = c_type(type), times = type.bits == 32 ? "ldexpf" : "ldexp";
  return add("scale_" + type_suffix(type), type, name + " x, " + name + " n",
             "  return n != n ? n : " + times + "(x, (int)n);\n");
}

std::string Helpers::size(const std::string& operation) {
  if (operation == "mul")
    return add("size_mul_i64", Type::i(64), "int64_t a, int64_t b",
               "  if (a <= 0 || b <= 0) return 0;\n  return a > INT64_MAX / b ? INT64_MAX : a * b;\n");
  return add("size_add_i64", Type::i(64), "int64_t a, int64_t b",
             "  return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;\n");
}

std::string Helpers::reinterpret(Type from, Type to) {
  return add(type_suffix(from) + "_as_" + type_suffix(to), to, c_type(from) + " value",
             "  union { " + c_type(from) + " from; " + c_type(to) + " to; } bits = {value};\n  return bits.to;\n");
}

}  // namespace tw::codegen
