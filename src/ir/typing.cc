#include "src/ir/typing.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace tw::ir {
namespace {

constexpr int kMaxLanes = std::numeric_limits<uint16_t>::max();

std::string both(const Expr& a, const Expr& b) { return to_string(a.type()) + " and " + to_string(b.type()); }

bool takes(BinOp op, Type t) {
  if (t.is_storage() || t.is_handle()) return false;  // of storage
  switch (op) {
    case BinOp::kAdd:
    case BinOp::kSub:
    case BinOp::kMul:
      return !t.is_bool();
    case BinOp::kDiv:
      return t.is_float();
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod:
      return t.is_integer();
    case BinOp::kMin:
    case BinOp::kMax:
    case BinOp::kEq:
    case BinOp::kNe:
    case BinOp::kLt:
    case BinOp::kLe:
    case BinOp::kGt:
    case BinOp::kGe:
      return true;
    case BinOp::kAnd:
    case BinOp::kOr:
      return t.is_bool();
    case BinOp::kBitAnd:
    case BinOp::kBitOr:
    case BinOp::kShl:
    case BinOp::kShr:
      return t.is_int() || t.is_uint();
    case BinOp::kBitXor:
      return t.is_integer();
  }
  return false;
}

}  // namespace

bool is_comparison(BinOp op) { return op >= BinOp::kEq && op <= BinOp::kGe; }

BinOp operator_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return BinOp::kAdd;
    case ReduceOp::kProd:
      return BinOp::kMul;
    case ReduceOp::kMin:
      return BinOp::kMin;
    case ReduceOp::kMax:
      return BinOp::kMax;
    case ReduceOp::kCustom:
      break;
  }
  TW_CHECK(false, "a reduction without an operator");
}

int lanes_of(const std::vector<Expr>& at) {
  int lanes = 1;
  for (const Expr& e : at) lanes = std::max<int>(lanes, e.type().lanes);
  return lanes;
}

std::string name_of(BinOp op) {
  static constexpr const char* kNames[] = {"+",   "-",   "*",  "/",  "//", "%",  "truncdiv", "truncmod",
                                           "min", "max", "==", "!=", "<",  "<=", ">",        ">=",
                                           "and", "or",  "&",  "|",  "^",  "<<", ">>"};
  return kNames[static_cast<size_t>(op)];
}

bool is_dot(Fn fn) { return fn >= Fn::kDotU8I8 && fn <= Fn::kTileI8I8; }
bool is_prefetch(Fn fn) { return fn == Fn::kPrefetch || fn == Fn::kPrefetchL2; }
bool is_tile(Fn fn) { return fn >= Fn::kTileBF16 && fn <= Fn::kTileI8I8; }

DotForm dot_form(Fn fn) {
  if (fn == Fn::kDotBF16 || fn == Fn::kDotBF16Odd) return {Type::bf16(), Type::bf16(), Type::f(32), 2};
  if (fn == Fn::kDotI8I8) return {Type::i(8), Type::i(8), Type::i(32), 4};
  if (fn == Fn::kDotU8U8) return {Type::u(8), Type::u(8), Type::i(32), 4};
  if (fn == Fn::kMatI8I8) return {Type::i(8), Type::i(8), Type::i(32), 8, 2};
  if (fn == Fn::kMatBF16Odd) return {Type::bf16(), Type::bf16(), Type::f(32), 4, 2};
  if (fn == Fn::kTileBF16) return {Type::bf16(), Type::bf16(), Type::f(32), 32, 16, 2};
  if (fn == Fn::kTileU8I8) return {Type::u(8), Type::i(8), Type::i(32), 64, 16, 4};
  if (fn == Fn::kTileI8I8) return {Type::i(8), Type::i(8), Type::i(32), 64, 16, 4};
  return {Type::u(8), Type::i(8), Type::i(32), 4};
}

DotForm dot_form(Fn fn, const std::vector<Expr>& args) {
  DotForm form = dot_form(fn);
  if (!is_tile(fn)) return form;
  form.rows = std::clamp(args[0].type().lanes / form.columns, 1, form.columns);
  const int groups = args[1].type().lanes / (form.rows * form.packed);
  form.group = std::clamp(groups, 1, form.group / form.packed) * form.packed;
  return form;
}

std::string name_of(Fn fn) {
  static constexpr const char* kNames[] = {
      "exp",          "log",       "tanh",     "sigmoid",    "erf",          "pow",      "sqrt",         "rsqrt",
      "abs",          "floor",     "ceil",     "round",      "trunc",        "fma",      "reinterpret",  "sin",
      "cos",          "tan",       "atan",     "log2",       "exp2",         "log10",    "expm1",        "log1p",
      "cbrt",         "tf32",      "scale",    "popcount",   "clz",          "isnan",    "isinf",        "dot_u8i8",
      "dot_u8i8_sat", "dot_bf16",  "dot_i8i8", "dot_u8u8",   "dot_bf16_odd", "mat_i8i8", "mat_bf16_odd", "tile_bf16",
      "tile_u8i8",    "tile_i8i8", "prefetch", "prefetch_l2"};
  return kNames[static_cast<size_t>(fn)];
}

size_t arity_of(Fn fn) {
  if (fn == Fn::kFma || is_dot(fn)) return 3;
  return fn == Fn::kPow || fn == Fn::kScale ? 2 : 1;
}

Type result_of(Fn fn, Type first) {
  if (fn == Fn::kIsNan || fn == Fn::kIsInf) return Type::boolean(first.lanes);
  return is_prefetch(fn) ? Type::i(32) : first;
}

std::string cast_fault(Type to, const Expr& value) {
  if (to.lanes == value.type().lanes) return {};
  return "cast to " + to_string(to) + ": lanes as in " + to_string(value.type()) + " expected";
}

std::string binary_fault(BinOp op, const Expr& a, const Expr& b) {
  if (a.type() != b.type()) return name_of(op) + ": operands of one type expected, not " + both(a, b);
  if (!takes(op, a.type())) return name_of(op) + ": does not take " + to_string(a.type());
  return {};
}

std::string select_fault(const Expr& cond, const Expr& yes, const Expr& no) {
  if (yes.type() != no.type()) return "select: arms of one type expected, not " + both(yes, no);
  const Type expected = Type::boolean(yes.type().lanes);
  if (cond.type() == expected) return {};
  return "select: a condition of type " + to_string(expected) + " expected, not " + to_string(cond.type());
}

std::string access_fault(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred) {
  if (at.size() != buffer.rank()) {
    return buffer.name() + ": " + std::to_string(buffer.rank()) + " subscripts expected, not " +
           std::to_string(at.size());
  }
  const int lanes = lanes_of(at);
  for (const Expr& e : at) {
    if (!e.type().is_index()) return buffer.name() + ": subscripts of type index expected, not " + to_string(e.type());
    if (e.type().lanes != 1 && e.type().lanes != lanes)
      return buffer.name() + ": subscripts of one lane count expected";
  }
  if (pred.get() != nullptr && pred.type() != Type::boolean(lanes)) {
    return buffer.name() + ": a predicate of type " + to_string(Type::boolean(lanes)) + " expected, not " +
           to_string(pred.type());
  }
  return {};
}

namespace {

std::string dot_fault(Fn fn, const std::vector<Expr>& args) {
  const DotForm form = dot_form(fn, args);
  const int n = form.columns, sums = n > 0 ? form.rows * n : args[0].type().lanes;
  const int left = n > 0 ? form.rows : sums, right = n > 0 ? n : sums;
  const Type wanted[] = {form.sum.with_lanes(sums), form.left.with_lanes(left * form.group),
                         form.right.with_lanes(right * form.group)};
  // a of one group: it belongs to all of c
  const bool same = n == 0 && args[1].type() == form.left.with_lanes(form.group);
  for (size_t i = 0; i < 3; ++i) {
    if (args[i].type() != wanted[i] && !(i == 1 && same))
      return name_of(fn) + ": " + to_string(wanted[i]) + " expected, not " + to_string(args[i].type());
  }
  return {};
}

}  // namespace

std::string symbol_fault(std::string_view symbol) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const bool fine = !symbol.empty() && std::all_of(symbol.begin(), symbol.end(), plain) &&
                    !std::isdigit(static_cast<unsigned char>(symbol[0]));
  return fine ? "" : "call: the symbol of a C function expected, not " + std::string(symbol);
}

std::string call_fault(Fn fn, const std::vector<Expr>& args) {
  if (fn == Fn::kReinterpret) return "reinterpret: needs the type that it gives";
  if (args.size() != arity_of(fn)) {
    return name_of(fn) + ": " + std::to_string(arity_of(fn)) + " arguments expected, not " +
           std::to_string(args.size());
  }
  if (is_dot(fn)) return dot_fault(fn, args);
  for (const Expr& arg : args) {
    if (arg.type() != args[0].type())
      return name_of(fn) + ": arguments of one type expected, not " + both(args[0], arg);
  }
  const Type type = args[0].type();
  if (is_prefetch(fn)) return as<Address>(args[0]) ? "" : name_of(fn) + ": an address expected, not " + to_string(type);
  if (fn == Fn::kTF32) return type.element() == Type::f(32) ? "" : "tf32: float32 expected, not " + to_string(type);
  if (fn == Fn::kScale && type.bits < 32) return "scale: float32 or float64 expected, not " + to_string(type);
  const bool integers = fn == Fn::kAbs || fn == Fn::kPopcount || fn == Fn::kClz || fn == Fn::kPow;
  const bool floats = fn != Fn::kPopcount && fn != Fn::kClz;
  const bool whole = (type.is_int() || type.is_uint()) && !type.is_packed();
  if ((floats && type.is_float()) || (integers && whole)) return {};
  return name_of(fn) + ": does not take " + to_string(type);
}

std::string reinterpret_fault(Type to, const Expr& value) {
  const Type from = value.type();
  const bool data = !to.is_bool() && !to.is_index() && !from.is_bool() && !from.is_index() && !to.is_packed();
  if (data && to.bits == from.bits && to.lanes == from.lanes) return {};
  return "reinterpret: data of the width of " + to_string(to) + " expected, not " + to_string(from);
}

std::string ramp_fault(const Expr& base, const Expr& stride, int lanes) {
  if (base.type() != stride.type()) return "ramp: base and stride of one type expected, not " + both(base, stride);
  if (!base.type().is_integer() || !base.type().is_scalar())
    return "ramp: does not start from " + to_string(base.type());
  return lanes < 2 || lanes > kMaxLanes
             ? "ramp: 2.." + std::to_string(kMaxLanes) + " lanes expected, not " + std::to_string(lanes)
             : "";
}

std::string broadcast_fault(const Expr& value, int lanes) {
  if (!value.type().is_scalar()) return "broadcast: a scalar expected, not " + to_string(value.type());
  return lanes < 2 || lanes > kMaxLanes
             ? "broadcast: 2.." + std::to_string(kMaxLanes) + " lanes expected, not " + std::to_string(lanes)
             : "";
}

std::string reduce_fault(const Reduce& r) {
  if (r.value < 0 || static_cast<size_t>(r.value) >= r.sources.size())
    return "reduction: no component " + std::to_string(r.value);
  if (!r.init.empty() && r.init.size() != r.sources.size()) return "reduction: one init for each component expected";
  if (r.combiner && r.combiner->lhs.size() != r.sources.size())
    return "reduction: " + std::to_string(r.combiner->lhs.size()) + " sources expected";
  if (!r.combiner && r.sources.size() != 1) return "reduction: one source expected";
  for (const Expr& source : r.sources) {
    if ((!r.combiner && !takes(operator_of(r.op), source.type())) || !source.type().is_scalar())
      return "reduction: does not take " + to_string(source.type());
  }
  if (static_cast<bool>(r.where) && r.where.type() != Type::boolean())
    return "reduction: a condition expected, not " + to_string(r.where.type());
  for (const ReduceAxis& axis : r.axes) {
    if (axis.var.type() != Type::index() || axis.min.type() != Type::index() || axis.extent.type() != Type::index()) {
      return "reduction: axis " + axis.var.name() + " must be an index, as its ends";
    }
  }
  return {};
}

}  // namespace tw::ir
