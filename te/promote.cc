#include "te/promote.h"

#include <algorithm>
#include <limits>

#include "src/ir/simplify_fold.h"
#include "src/ir/typing.h"
#include "te/dtype.h"
#include "te/refuse.h"

namespace tw::te {

using ir::BinOp;
using ir::Expr;
using ir::Type;

namespace {

bool is_constant(const Expr& e) { return ir::as<ir::IntImm>(e) || ir::as<ir::FloatImm>(e); }

// What an index is where it meets data: int32, and int64 for constants that int32 does not hold.
Type data_type(const Expr& e) {
  if (!e.type().is_index()) return e.type();
  const auto value = ir::as_int(e);
  using Limits = std::numeric_limits<int32_t>;
  return value && (*value < Limits::min() || *value > Limits::max()) ? Type::i(64) : Type::i(32);
}

Type wider(Type a, Type b) { return a.bits >= b.bits ? a : b; }

// The table of docs/dtypes.md. tvm's bool is an unsigned integer of one bit, so everything wins over it.
Type common_type(Type a, Type b) {
  if (a == b) return a;
  if (a.is_float() && b.is_float()) return a.bits == b.bits ? Type::f(a.bits) : wider(a, b);
  if (a.is_float()) return a;
  if (b.is_float()) return b;
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  if (a.code == b.code || a.bits != b.bits) return wider(a, b);
  return Type::u(a.bits);
}

// An int32 constant beside an index is one of its numbers: te.min(i, te.const(5)) stays an index.
bool joins_index(const Expr& index, const Expr& constant) {
  return index.type().is_index() && !is_constant(index) && ir::as<ir::IntImm>(constant) &&
         constant.type() == Type::i(32);
}

std::string both(Type a, Type b) { return dtype_name(a) + " and " + dtype_name(b); }

[[noreturn]] void refuse_operands(BinOp op, const std::string& expected, Type a, Type b, std::string way) {
  refuse(ErrorKind::kDType, ir::name_of(op) + ": expected " + expected + ", not " + both(a, b), {std::move(way)});
}

void check_operands(BinOp op, const Expr& a, const Expr& b) {
  const Type ta = a.type(), tb = b.type();
  for (const Type type : {ta, tb})
    if (type.is_storage()) refuse_operands(op, "numbers to calculate with", ta, tb, way_out_of_storage(type));
  switch (op) {
    case BinOp::kAnd:
    case BinOp::kOr:
      if (!ta.is_bool() || !tb.is_bool())
        refuse_operands(op, "bool conditions", ta, tb, "a comparison gives one: x != 0");
      return;
    case BinOp::kAdd:
    case BinOp::kSub:
    case BinOp::kMul:
      if (ta.is_bool() && tb.is_bool())
        refuse_operands(op, "numbers", ta, tb,
                        "convert one: c.astype(\"int32\"); conditions combine with te.all and te.any");
      return;
    case BinOp::kDiv:
      if (!ta.is_float() && !tb.is_float())
        refuse_operands(op, "a float operand", ta, tb,
                        "integers divide with //, te.truncdiv, or as floats: a.astype(\"float32\") / b");
      return;
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod:
      if (ta.is_float() || tb.is_float() || (ta.is_bool() && tb.is_bool()))
        refuse_operands(op, "integers", ta, tb, "floats divide with /; te.floor(a / b) rounds down");
      if (ir::is_int(b, 0))
        refuse(ErrorKind::kExpr, ir::name_of(op) + ": divisor must not be 0", {"dividend: " + short_text(a)});
      return;
    case BinOp::kBitAnd:
    case BinOp::kBitOr:
    case BinOp::kBitXor:
    case BinOp::kShl:
    case BinOp::kShr:
      if (ta.is_float() || tb.is_float() || (ta.is_bool() && tb.is_bool()))
        refuse_operands(op, "integers", ta, tb, "conditions combine with & | ~ or te.all and te.any");
      return;
    default:
      return;
  }
}

bool on_bits(BinOp op) { return op >= BinOp::kBitAnd && op <= BinOp::kShr; }

}  // namespace

Expr as_data(Expr e) {
  const Type type = data_type(e);  // before the move: arguments are evaluated in any order
  return convert(type, std::move(e));
}

Expr as_index(Expr e) {
  const Type type = e.type();
  if (type.is_index()) return e;
  if (type.is_float() || type.is_bool()) {
    refuse(ErrorKind::kDType, "an index or extent must be an integer, not " + dtype_name(type) + ": " + short_text(e),
           {"e.astype(\"int32\") converts"});
  }
  // An index that a wide cast made data is that index again: subscripts lie inside their tensor.
  if (const auto* c = ir::as<ir::Cast>(e); c && type.bits >= 32 && c->value.type().is_index()) return c->value;
  return convert(Type::index(), std::move(e));
}

void promote(Expr& a, Expr& b) {
  if (joins_index(a, b)) b = as_index(b);
  if (joins_index(b, a)) a = as_index(a);
  if (a.type() == b.type()) return;
  const int lanes = std::max(a.type().lanes, b.type().lanes);
  for (const Expr* e : {&a, &b})
    if (e->type().lanes != 1 && e->type().lanes != lanes)
      refuse(ErrorKind::kDType, "expected vectors of as many lanes, not " + both(a.type(), b.type()), {});
  const Type type = common_type(data_type(a).element(), data_type(b).element());
  for (Expr* e : {&a, &b}) {
    const bool scalar = e->type().lanes == 1;
    *e = convert(scalar ? type : type.with_lanes(lanes), std::move(*e));
    if (scalar) *e = ir::broadcast(std::move(*e), lanes);
  }
}

Expr arith(BinOp op, Expr a, Expr b) {
  check_operands(op, a, b);
  promote(a, b);
  if (on_bits(op)) {
    a = as_data(std::move(a));
    b = as_data(std::move(b));
  }
  if (is_constant(a) && is_constant(b)) {
    if (Expr folded = ir::fold(op, a, b)) return folded;
  }
  return ir::binary(op, std::move(a), std::move(b));
}

}  // namespace tw::te
