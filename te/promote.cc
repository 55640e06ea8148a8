#include "te/promote.h"

#include <cmath>

#include "src/ir/typing.h"

namespace tw::te {

using namespace ir;

Expr as_data(Expr e) { return e.type().is_index() ? cast(Type::i(32, e.type().lanes), e) : e; }

Expr as_index(Expr e) {
  if (e.type().is_index()) return e;
  if (!e.type().is_integer()) {
    throw Error(Diagnostic{ErrorKind::kDType, "a subscript or extent must be an integer, not " + to_string(e.type()), {}, {}});
  }
  if (auto value = as_int(e)) return int_imm(Type::index(), *value);
  return cast(Type::index(), e);
}

void promote(Expr& a, Expr& b) {
  if (a.type() == b.type()) return;
  a = as_data(a);
  b = as_data(b);
  const Type ta = a.type(), tb = b.type();
  Type to = ta;
  if (ta.is_float() || tb.is_float()) {
    to = !tb.is_float() ? ta : !ta.is_float() ? tb : (ta.bits >= tb.bits ? ta : tb);
  } else if (ta.is_bool() || tb.is_bool()) {
    to = ta.is_bool() ? tb : ta;
  } else if (ta.code == tb.code || ta.bits != tb.bits) {
    to = ta.bits >= tb.bits ? ta : tb;
  } else {
    to = Type::u(ta.bits);
  }
  a = cast(to, a);
  b = cast(to, b);
}

Expr arith(BinOp op, Expr a, Expr b) {
  if (op == BinOp::kAnd || op == BinOp::kOr) return binary(op, a, b);
  promote(a, b);
  return binary(op, a, b);
}

}  // namespace tw::te
