// Construction: builds exactly the node that is asked for, after checking the typing rules of verify.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "tensorwright/ir.h"

namespace tw::ir {
namespace {

Expr make(Type type, ExprKind kind) { return Expr(std::make_shared<const ExprNode>(type, std::move(kind))); }
Stmt make(StmtKind kind) { return Stmt(std::make_shared<const StmtNode>(std::move(kind))); }

void check(const std::string& fault) { TW_CHECK(fault.empty(), fault); }

int64_t wrap(Type type, int64_t value) {
  if (type.is_bool()) return value != 0;
  if (type.bits == 64) return value;
  const int unused = 64 - type.bits;
  const uint64_t high = static_cast<uint64_t>(value) << unused;
  return type.is_uint() ? static_cast<int64_t>(high >> unused) : static_cast<int64_t>(high) >> unused;
}

// An integer literal beside an operand of another type is a constant of that type.
void adopt_literal(Expr& literal, const Expr& other) {
  const IntImm* imm = as<IntImm>(literal);
  if (imm == nullptr || !literal.type().is_index() || literal.type() == other.type()) return;
  literal = other.type().is_float() ? float_imm(other.type(), static_cast<double>(imm->value))
                                    : int_imm(other.type(), imm->value);
}

Expr operate(BinOp op, Expr a, Expr b) {
  adopt_literal(a, b);
  adopt_literal(b, a);
  // These operators are also what users of te write in C++: mixed operands are their error, not a bug of ours.
  if (const std::string fault = binary_fault(op, a, b); !fault.empty())
    throw Error(Diagnostic{ErrorKind::kDType, fault, {}, {"te::astype(e, dtype) converts"}});
  return binary(op, std::move(a), std::move(b));
}

}  // namespace

Expr int_imm(Type type, int64_t value) {
  TW_CHECK(!type.is_float(), "int_imm of " + to_string(type));
  return broadcast(type == Type::index() ? Expr(value) : make(type.element(), IntImm{wrap(type, value)}), type.lanes);
}

Expr float_imm(Type type, double value) {
  TW_CHECK(type.is_float(), "float_imm of " + to_string(type));
  return broadcast(make(type.element(), FloatImm{round_to(type, value)}), type.lanes);
}

Expr imm(Type type, double value) {
  return type.is_float() ? float_imm(type, value) : int_imm(type, static_cast<int64_t>(value));
}

Expr zero(Type type) {
  if (type.is_float8()) return reinterpret(type, imm(Type::u(8, type.lanes), 0));
  if (type.is_packed()) return cast(type, imm(Type::i(8, type.lanes), 0));
  return imm(type, 0);
}

Expr boolean(bool value) { return int_imm(Type::boolean(), value); }

Expr cast(Type type, Expr value) {
  if (value.type() == type) return value;
  check(cast_fault(type, value));
  return make(type, Cast{std::move(value)});
}

Expr binary(BinOp op, Expr a, Expr b) {
  check(binary_fault(op, a, b));
  const Type type = is_comparison(op) ? Type::boolean(a.type().lanes) : a.type();
  return make(type, Binary{op, std::move(a), std::move(b)});
}

Expr logical_not(Expr a) {
  TW_CHECK(a.type().is_bool(), "not of " + to_string(a.type()));
  const Type type = a.type();
  return make(type, Not{std::move(a)});
}

Expr select(Expr cond, Expr yes, Expr no) {
  check(select_fault(cond, yes, no));
  const Type type = yes.type();
  return make(type, Select{std::move(cond), std::move(yes), std::move(no)});
}

Expr load(Buffer buffer, std::vector<Expr> at, Expr pred) {
  check(access_fault(buffer, at, pred));
  const Type type = buffer.element().with_lanes(lanes_of(at));
  return make(type, Load{std::move(buffer), std::move(at), std::move(pred)});
}

Expr call(Fn fn, std::vector<Expr> args) {
  check(call_fault(fn, args));
  const Type type = result_of(fn, args[0].type());
  return make(type, Call{fn, std::move(args)});
}

Expr reinterpret(Type type, Expr value) {
  check(reinterpret_fault(type, value));
  return make(type, Call{Fn::kReinterpret, {std::move(value)}});
}

Expr ramp(Expr base, Expr stride, int lanes) {
  if (lanes == 1) return base;
  check(ramp_fault(base, stride, lanes));
  const Type type = base.type().with_lanes(lanes);
  return make(type, Ramp{std::move(base), std::move(stride), lanes});
}

Expr broadcast(Expr value, int lanes) {
  if (lanes == 1) return value;
  check(broadcast_fault(value, lanes));
  const Type type = value.type().with_lanes(lanes);
  return make(type, Broadcast{std::move(value), lanes});
}

Expr let(Var var, Expr value, Expr body) {
  TW_CHECK(var.type() == value.type(),
           "let " + var.name() + ": " + to_string(var.type()) + " = " + to_string(value.type()));
  const Type type = body.type();
  return make(type, Let{std::move(var), std::move(value), std::move(body)});
}

Expr reduce(ReduceOp op, Expr source, std::vector<ReduceAxis> axes) {
  return reduce(Reduce{op, {std::move(source)}, std::move(axes), {}, {}, 0, nullptr});
}

Expr reduce(Reduce r) {
  check(reduce_fault(r));
  const Type type = r.sources[static_cast<size_t>(r.value)].type();
  return make(type, std::move(r));
}

Expr call_extern(Type type, std::string symbol, std::vector<Expr> args, bool pure) {
  return make(type, CallExtern{std::move(symbol), std::move(args), pure});
}

Expr address_of(Buffer buffer, std::vector<Expr> at, bool read, bool written) {
  check(access_fault(buffer, at, {}));
  return make(Type::handle(), Address{std::move(buffer), std::move(at), read, written});
}

Expr type_min(Type type) {
  if (type.is_bool() || type.is_uint()) return int_imm(type, 0);
  if (type.code == TypeCode::kBFloat) return float_imm(type, -0x1.fep127);
  if (type.is_float())
    return float_imm(type, type.bits == 16 ? -65504.0 : type.bits == 32 ? -0x1.fffffep127 : -0x1.fffffffffffffp1023);
  return int_imm(type, type.bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (type.bits - 1)));
}

Expr type_max(Type type) {
  if (type.is_bool()) return int_imm(type, 1);
  if (type.code == TypeCode::kBFloat) return float_imm(type, 0x1.fep127);
  if (type.is_float())
    return float_imm(type, type.bits == 16 ? 65504.0 : type.bits == 32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023);
  if (type.is_uint()) return int_imm(type, -1);
  return int_imm(type, type.bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (type.bits - 1)) - 1);
}

Expr identity_of(ReduceOp op, Type type) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kSum:
      return imm(type, 0);
    case ReduceOp::kProd:
      return imm(type, 1);
    case ReduceOp::kMin:
      return type.is_float() ? float_imm(type, infinity) : type_max(type);
    case ReduceOp::kMax:
      return type.is_float() ? float_imm(type, -infinity) : type_min(type);
    case ReduceOp::kCustom:
      break;
  }
  TW_CHECK(false, "a reduction that identity_of does not know");
}

Expr combine(ReduceOp op, Expr a, Expr b) { return binary(operator_of(op), std::move(a), std::move(b)); }

std::vector<Expr> identity_of(const Reduce& r) {
  if (r.combiner) return r.combiner->identity;
  return {identity_of(r.op, r.sources[0].type())};
}

std::vector<Expr> combine(const Reduce& r, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (!r.combiner) return {combine(r.op, a.at(0), b.at(0))};
  Substitution with;
  for (size_t i = 0; i < r.sources.size(); ++i) {
    with[r.combiner->lhs[i].id()] = a.at(i);
    with[r.combiner->rhs[i].id()] = b.at(i);
  }
  std::vector<Expr> both;
  for (const Expr& result : r.combiner->result) both.push_back(substitute(result, with));
  return both;
}

Stmt store(Buffer buffer, std::vector<Expr> at, Expr value, Expr pred, Arrival arrival) {
  check(access_fault(buffer, at, pred));
  const Type expected = buffer.element().with_lanes(lanes_of(at));
  TW_CHECK(value.type() == expected,
           "store to " + buffer.name() + ": " + to_string(expected) + " expected, not " + to_string(value.type()));
  return make(Store{std::move(buffer), std::move(at), std::move(value), std::move(pred), arrival});
}

Stmt loop(Var var, Expr extent, Stmt body, ForKind kind, Tail tail) {
  TW_CHECK(var.type() == Type::index() && extent.type() == Type::index(),
           "loop " + var.name() + " over " + to_string(extent.type()));
  TW_CHECK(static_cast<bool>(body), "loop " + var.name() + " without a body");
  return make(For{std::move(var), std::move(extent), kind, tail, std::move(body)});
}

Stmt if_then(Expr cond, Stmt then, Stmt otherwise) {
  TW_CHECK(cond.type() == Type::boolean(), "if of " + to_string(cond.type()));
  TW_CHECK(static_cast<bool>(then), "if without a body");
  return make(If{std::move(cond), std::move(then), std::move(otherwise)});
}

Stmt seq(std::vector<Stmt> stmts) {
  const bool flat = std::none_of(stmts.begin(), stmts.end(), [](const Stmt& s) { return as<Seq>(s) != nullptr; });
  if (!flat) {
    std::vector<Stmt> all;
    for (Stmt& s : stmts) {
      if (const Seq* inner = as<Seq>(s)) {
        all.insert(all.end(), inner->stmts.begin(), inner->stmts.end());
      } else {
        all.push_back(std::move(s));
      }
    }
    stmts = std::move(all);
  }
  if (stmts.size() == 1) return stmts[0];
  return make(Seq{std::move(stmts)});
}

Stmt allocate(Buffer buffer, Stmt body) {
  TW_CHECK(static_cast<bool>(body), "allocation of " + buffer.name() + " without a body");
  return make(Allocate{std::move(buffer), std::move(body)});
}

Stmt let_stmt(Var var, Expr value, Stmt body) {
  TW_CHECK(var.type() == value.type(),
           "let " + var.name() + ": " + to_string(var.type()) + " = " + to_string(value.type()));
  TW_CHECK(static_cast<bool>(body), "let " + var.name() + " without a body");
  return make(LetStmt{std::move(var), std::move(value), std::move(body)});
}

Stmt evaluate(Expr value) {
  TW_CHECK(static_cast<bool>(value), "evaluate without a call");
  return make(Evaluate{std::move(value)});
}

Stmt sync(SyncOp op, int64_t count) { return make(Sync{op, count}); }

Expr operator+(Expr a, Expr b) { return operate(BinOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return operate(BinOp::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return operate(BinOp::kMul, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return operate(BinOp::kLt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return operate(BinOp::kLe, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return operate(BinOp::kGt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return operate(BinOp::kGe, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) { return binary(BinOp::kAnd, std::move(a), std::move(b)); }
Expr operator||(Expr a, Expr b) { return binary(BinOp::kOr, std::move(a), std::move(b)); }
Expr floordiv(Expr a, Expr b) { return operate(BinOp::kFloorDiv, std::move(a), std::move(b)); }
Expr floormod(Expr a, Expr b) { return operate(BinOp::kFloorMod, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return operate(BinOp::kMin, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return operate(BinOp::kMax, std::move(a), std::move(b)); }
Expr eq(Expr a, Expr b) { return operate(BinOp::kEq, std::move(a), std::move(b)); }
Expr ne(Expr a, Expr b) { return operate(BinOp::kNe, std::move(a), std::move(b)); }

std::optional<int64_t> as_int(const Expr& e) {
  const Broadcast* spread = as<Broadcast>(e);
  const IntImm* imm = as<IntImm>(spread ? spread->value : e);
  return imm ? std::optional(imm->value) : std::nullopt;
}

}  // namespace tw::ir
