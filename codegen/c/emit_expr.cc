// Values: how each kind of expression is written.
#include <cmath>

#include "codegen/c/emitter.h"
#include "codegen/long_arm.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::BinOp;
using ir::Expr;
using ir::Fn;
using ir::Type;

namespace {

bool is_leaf(const Expr& e) { return ir::as<ir::VarRef>(e) || ir::as<ir::IntImm>(e) || ir::as<ir::FloatImm>(e); }

// x of x * -1, -1 * x, x / -1 and -0.0 - x; none where the binary is no negative.
Expr negated_by(const ir::Binary& binary) {
  const auto is = [](const Expr& e, double value) {
    const auto* imm = ir::as<ir::FloatImm>(e);
    return imm && imm->value == value && std::signbit(imm->value);
  };
  if (is(binary.b, -1) && (binary.op == BinOp::kMul || binary.op == BinOp::kDiv)) return binary.a;
  if (is(binary.a, -1) && binary.op == BinOp::kMul) return binary.b;
  return is(binary.a, -0.0) && binary.op == BinOp::kSub ? binary.b : Expr();
}

bool narrow(Type type) { return !type.is_bool() && type.is_integer() && type.bits < 32; }
bool long_integer(Type type) { return type.is_integer() && type.bits == 64; }

bool fits_int(const ir::Interval& range) { return range.lo >= INT32_MIN && range.hi <= INT32_MAX; }

CText unexpected(const Expr& e) {
  TW_CHECK(false, "the C emitter was given " + ir::to_string(e));
  return {};
}

}  // namespace

CEmitter::SharingLevel::~SharingLevel() {
  for (size_t i = mark; i < emitter.defined_order_.size(); ++i) emitter.defined_.erase(emitter.defined_order_[i]);
  emitter.defined_order_.resize(mark);
}

CText CEmitter::emit(const Expr& expr, Need need) {
  if (!sharing_.named(expr) || is_leaf(expr)) return emit_uncached(expr, need);
  if (const auto known = defined_.find(expr.get()); known != defined_.end()) return known->second;
  const CText value = emit_uncached(expr, Need::kValue);
  const CText known_as = declare(expr.type(), names_.fresh("t"), value);
  defined_[expr.get()] = known_as;
  defined_order_.push_back(expr.get());
  return known_as;
}

CText CEmitter::emit_uncached(const Expr& expr, Need need) {
  const Type type = expr.type();
  return ir::match(
      expr, [&](const ir::IntImm& c) { return emit_constant(type, c.value); },
      [&](const ir::FloatImm& c) { return emit_real(type, c.value); },
      [&](const ir::VarRef& v) {
        TW_CHECK(names_.known(v.var.id()), "variable " + v.var.name() + " is not in scope");
        return CText{names_.of(v.var.id()), kPostfix, !int_vars_.contains(v.var.id())};
      },
      [&](const ir::Cast& cast) { return emit_cast(type, cast.value, need); },
      [&](const ir::Binary& binary) { return emit_binary(binary, type, need); },
      [&](const ir::Not& n) { return CText{"!" + in(n.a, kUnary, Need::kTruth), kUnary}; },
      [&](const ir::Select& select) { return emit_select(select, need); },
      [&](const ir::Load& load) { return emit_load(load, type, need); },
      [&](const ir::Call& call) { return emit_call(call, type); },
      [&](const ir::Let& let) { return emit_let(let, need); }, [&](const ir::Ramp&) { return unexpected(expr); },
      [&](const ir::Broadcast&) { return unexpected(expr); }, [&](const ir::Reduce&) { return unexpected(expr); },
      [&](const ir::CallExtern& call) { return emit_extern(call, type); },
      [&](const ir::Address&) { return unexpected(expr); });
}

CText CEmitter::declare(Type type, const std::string& name, const CText& value) {
  const bool is_short = short_indices_ && type.is_index() && !value.wide;
  line("const " + (is_short ? "int" : c_type(type)) + " " + name + " = " + value.text + ";");
  has_prelude_ = true;
  return {name, kPostfix, !is_short};
}

std::string CEmitter::in(const Expr& expr, int level, Need need) {
  const CText value = emit(expr, need);
  return value.level < level ? "(" + value.text + ")" : value.text;
}

CText CEmitter::narrowed(Type type, CText value, Need need) const {
  if (!narrow(type) || need == Need::kLow) return value;
  return {"(" + c_type(type) + ")" + (value.level < kUnary ? "(" + value.text + ")" : value.text), kUnary};
}

CText CEmitter::widened(Type type, CText value) const {
  if (value.wide) return value;
  return {"(" + c_type(type) + ")" + (value.level < kUnary ? "(" + value.text + ")" : value.text), kUnary};
}

CText CEmitter::emit_binary(const ir::Binary& binary, Type type, Need need) {
  switch (binary.op) {
    case BinOp::kAnd:
    case BinOp::kOr:
      return emit_logical(binary);
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod:
      return emit_division(binary);
    case BinOp::kMin:
    case BinOp::kMax:
      return emit_min_max(binary, type);
    case BinOp::kShl:
    case BinOp::kShr:
      return emit_shift(binary, need);
    default:
      return emit_infix(binary, need);
  }
}

CText CEmitter::emit_min_max(const ir::Binary& binary, Type type) {
  if (!short_indices_ || !type.is_index()) return {call_text(helpers_.min_max(binary.op, type), {binary.a, binary.b})};
  const CText a = emit(binary.a), b = emit(binary.b);
  const bool is_short = !a.wide && !b.wide;
  const std::string function = helpers_.min_max(binary.op, is_short ? Type::i(32) : type);
  return {function + "(" + a.text + ", " + b.text + ")", kPostfix, !is_short};
}

CText CEmitter::emit_infix(const ir::Binary& binary, Need need) {
  // gcc (12 at least) makes -(a * b) - c of the negative of a fused a * b + c, wherever that comes from: 0 where it
  // should be -0. Until CodegenValues.NegativesOfFusedMultiplyAdds passes without this.
  if (const Expr value = fuses_ ? negated_by(binary) : Expr())
    return {call_text(helpers_.negative(value.type()), {value})};
  struct Row {
    BinOp op;
    const char* text;
    int level, operands;  // operands: what they must bind like, when they are not the same operator on the left
  };
  static constexpr Row kRows[] = {{BinOp::kAdd, " + ", kAdditive, kAdditive},
                                  {BinOp::kSub, " - ", kAdditive, kAdditive},
                                  {BinOp::kMul, " * ", kMultiplicative, kMultiplicative},
                                  {BinOp::kDiv, " / ", kMultiplicative, kMultiplicative},
                                  {BinOp::kEq, " == ", kEquality, kAdditive},
                                  {BinOp::kNe, " != ", kEquality, kAdditive},
                                  {BinOp::kLt, " < ", kRelation, kAdditive},
                                  {BinOp::kLe, " <= ", kRelation, kAdditive},
                                  {BinOp::kGt, " > ", kRelation, kAdditive},
                                  {BinOp::kGe, " >= ", kRelation, kAdditive},
                                  {BinOp::kBitAnd, " & ", kBitwiseAnd, kUnary},
                                  {BinOp::kBitOr, " | ", kBitwiseOr, kUnary},
                                  {BinOp::kBitXor, " ^ ", kBitwiseXor, kUnary}};
  const Row* row = kRows;
  while (row->op != binary.op) ++row;
  const Type type = binary.a.type();
  TW_CHECK(!type.is_half(), "half arithmetic reached code generation");
  const bool compares = ir::is_comparison(binary.op);
  const Need operands = narrow(type) && !compares ? Need::kLow : Need::kValue;
  CText a = emit(binary.a, operands);
  CText b = emit(binary.b, operands);
  const bool short_values = long_integer(type) && !compares && !a.wide && !b.wide;
  const bool stays_short =
      short_values && fits_int(ir::interval_of(ir::binary(binary.op, binary.a, binary.b), bounds_));
  if (short_values && !stays_short) a = widened(type, a);
  const ir::Binary* left = ir::as<ir::Binary>(binary.a);
  const bool same = left && left->op == binary.op && a.level == row->level && !compares;
  const auto wrapped = [](const CText& t, int level) { return t.level < level ? "(" + t.text + ")" : t.text; };
  const std::string first = wrapped(a, same ? row->level : row->operands);
  std::string second = wrapped(b, compares || row->operands == kUnary ? row->operands : row->level + 1);
  const char* infix = row->text;
  if (binary.op == BinOp::kAdd && b.level == kUnary && second[0] == '-' && is_leaf(binary.b)) {
    infix = " - ";  // x + -1 is x - 1, for floats too
    second.erase(0, 1);
  }
  return narrowed(compares ? Type::boolean() : type, {first + infix + second, row->level, !stays_short}, need);
}

// Both operands are evaluated only as far as C does: an operand that may fault is behind the other one here, too.
CText CEmitter::emit_logical(const ir::Binary& binary) {
  const bool conjunction = binary.op == BinOp::kAnd;
  const auto operand = [&](const Expr& e, bool first) {
    const ir::Binary* inner = ir::as<ir::Binary>(e);
    const bool same = first && inner && inner->op == binary.op;
    return in(e, same ? (conjunction ? kLogicalAnd : kLogicalOr) : kBitwiseOr, Need::kTruth);
  };
  const std::string a = operand(binary.a, true);
  const size_t mark = lines_.size();
  std::string b;
  {
    SharingLevel level(*this);
    b = operand(binary.b, false);
  }
  if (lines_.size() > mark && may_fault(binary.b)) {
    lines_.resize(mark);
    const Expr constant = ir::boolean(!conjunction);
    kept_.push_back(constant);
    return conjunction ? emit_choice(binary.a, binary.b, constant, Need::kValue)
                       : emit_choice(binary.a, constant, binary.b, Need::kValue);
  }
  return {a + (conjunction ? " && " : " || ") + b, conjunction ? kLogicalAnd : kLogicalOr};
}

CText CEmitter::emit_select(const ir::Select& select, Need need) {
  return emit_choice(select.cond, select.yes, select.no, need, has_long_arm(select));
}

// cond ? yes : no, or an `if` where an arm that must not be evaluated, or takes long, needs declarations of its own.
CText CEmitter::emit_choice(const Expr& cond, const Expr& yes, const Expr& no, Need need, bool is_long) {
  const std::string condition = in(cond, kLogicalOr, Need::kTruth);
  struct Arm {
    CText value;
    std::vector<std::string> prelude;
  };
  const auto arm = [&](const Expr& e) {
    if (!is_long && !may_fault(e)) return Arm{emit(e, need), {}};
    SharingLevel level(*this);
    const size_t mark = lines_.size();
    Indent deeper(*this);
    Arm out{emit(e, need), {}};
    out.prelude.assign(lines_.begin() + static_cast<ptrdiff_t>(mark), lines_.end());
    lines_.resize(mark);
    return out;
  };
  const Arm on_yes = arm(yes), on_no = arm(no);
  if (on_yes.prelude.empty() && on_no.prelude.empty()) {
    const auto wrapped = [](const CText& t) { return t.level <= kTernary ? "(" + t.text + ")" : t.text; };
    const bool wide = on_yes.value.wide || on_no.value.wide;
    return {condition + " ? " + wrapped(on_yes.value) + " : " +
                (on_no.value.level < kTernary ? wrapped(on_no.value) : on_no.value.text),
            kTernary, wide};
  }
  const std::string name = names_.fresh("pick");
  line(c_type(yes.type()) + " " + name + ";");
  has_prelude_ = true;
  line("if (" + condition + ") {");
  lines_.insert(lines_.end(), on_yes.prelude.begin(), on_yes.prelude.end());
  const std::string inside(static_cast<size_t>(2 * indent_ + 2), ' ');
  lines_.push_back(inside + name + " = " + on_yes.value.text + ";");
  line("} else {");
  lines_.insert(lines_.end(), on_no.prelude.begin(), on_no.prelude.end());
  lines_.push_back(inside + name + " = " + on_no.value.text + ";");
  line("}");
  return {name};
}

CText CEmitter::emit_let(const ir::Let& let, Need need) {
  const CText value = emit(let.value);
  const std::string name = names_.bind(let.var.id(), let.var.name());
  if (!declare(let.var.type(), name, value).wide) int_vars_.insert(let.var.id());
  if (let.var.type().is_index()) bounds_[let.var.id()] = ir::interval_of(let.value, bounds_);
  return emit(let.body, need);
}

std::string CEmitter::call_text(const std::string& function, const std::vector<Expr>& args) {
  std::string text = function + "(";
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + argument(args[i]);
  return text + ")";
}

CText CEmitter::emit_call(const ir::Call& call, Type type) {
  const Type from = call.args[0].type();
  if (call.fn == Fn::kReinterpret) {
    const auto bits = [](Type t) { return t.is_half() || t.is_float8() ? Type::u(t.bits) : t; };
    if (bits(from).is_float() || bits(type).is_float()) return {call_text(helpers_.reinterpret(from, type), call.args)};
    if (bits(from) == bits(type)) return emit(call.args[0]);
    return {"(" + c_type(type) + ")" + in(call.args[0], kUnary), kUnary};
  }
  if (call.fn == Fn::kIsNan || call.fn == Fn::kIsInf) return {call_text(helpers_.classify(call.fn, from), call.args)};
  if (call.fn == Fn::kScale) return {call_text(helpers_.scale(type), call.args)};
  if (call.fn == Fn::kPopcount || call.fn == Fn::kClz)
    return {call_text(helpers_.count_bits(call.fn, type), call.args)};
  if (call.fn == Fn::kAbs && type.is_integer())
    return type.is_uint() ? emit(call.args[0]) : CText{call_text(helpers_.integer_abs(type), call.args)};
  TW_CHECK(type.is_float() && type.bits >= 32, "a function of floats on " + ir::to_string(type));
  const auto name = [&]() -> std::string {
    switch (call.fn) {
      case Fn::kSqrt:
        return "sqrt";
      case Fn::kAbs:
        return "fabs";
      case Fn::kFloor:
        return "floor";
      case Fn::kCeil:
        return "ceil";
      case Fn::kTrunc:
        return "trunc";
      case Fn::kRound:
        return "rint";
      case Fn::kFma:
        return "fma";
      default:
        TW_CHECK(false, "a function that lowering should have expanded");
        return "";
    }
  };
  helpers_.uses_math();
  return {call_text(name() + (type.bits == 32 ? "f" : ""), call.args)};
}

std::string CEmitter::access(const ir::Buffer& buffer, const std::vector<Expr>& at) {
  TW_CHECK(names_.known(buffer.id()), "buffer " + buffer.name() + " is not in scope");
  std::string text = names_.of(buffer.id());
  const bool one_vector = at.size() == 2 && ir::is_int(buffer.shape()[0], 1);
  for (size_t d = one_vector; d < at.size(); ++d) text += "[" + argument(at[d]) + "]";
  return at.empty() ? text + "[0]" : text;
}

CText CEmitter::emit_load(const ir::Load& load, Type type, Need need) {
  if (load.pred) {
    const Expr wanted = ir::load(load.buffer, load.at), nothing = ir::zero(type);
    kept_.push_back(wanted);
    kept_.push_back(nothing);
    return emit_choice(load.pred, wanted, nothing, need);
  }
  const std::string text = access(load.buffer, load.at);
  if (type.is_bool() && need != Need::kTruth) return {text + " != 0", kEquality};
  return {text};
}

bool CEmitter::surely_inside(const ir::Load& load) const {
  const auto known = elements_.find(load.buffer.id());
  if (known == elements_.end() || load.at.size() != 1) return false;
  const ir::Interval range = ir::interval_of(load.at[0], bounds_);
  return range.lo >= 0 && range.hi < known->second;
}

// Whether the expression reads a place that may not be there. What cannot fault may be evaluated in vain.
bool CEmitter::may_fault(const Expr& expr) {
  const auto known = may_fault_.find(expr.get());
  if (known != may_fault_.end()) return known->second;
  const auto* load = ir::as<ir::Load>(expr);
  bool result = ir::as<ir::CallExtern>(expr) || (load && (load->at.empty() || !surely_inside(*load)));
  for (const Expr& child : ir::children(expr)) result = result || may_fault(child);
  may_fault_[expr.get()] = result;
  return result;
}

}  // namespace tw::codegen
