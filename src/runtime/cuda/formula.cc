#include "src/runtime/cuda/formula.h"

#include <algorithm>
#include <cstring>

#include "src/ir/typing.h"

namespace tw::runtime::cuda {

using ir::BinOp;
using ir::Expr;

class FormulaWriter {
 public:
  explicit FormulaWriter(std::span<const ir::Var> scalars) : scalars_(scalars) {}

  // False where the expression has no meaning here.
  bool write(const Expr& e) {
    if (!(e.type().is_integer() || e.type().is_bool()) || !e.type().is_scalar()) return false;
    if (const auto* c = ir::as<ir::IntImm>(e)) return push({Formula::Do::kPush, {}, {}, c->value});
    if (const auto* v = ir::as<ir::VarRef>(e)) {
      const auto at = std::find(scalars_.begin(), scalars_.end(), v->var);
      return at != scalars_.end() && push({Formula::Do::kScalar, {}, e.type(), at - scalars_.begin()});
    }
    if (const auto* c = ir::as<ir::Cast>(e)) return widens(c->value.type(), e.type()) && write(c->value);
    if (const auto* b = ir::as<ir::Binary>(e))
      return known(*b, e.type()) && write(b->a) && write(b->b) && step({Formula::Do::kBinary, b->op}, 1);
    if (const auto* n = ir::as<ir::Not>(e)) return write(n->a) && step({Formula::Do::kNot}, 0);
    if (const auto* s = ir::as<ir::Select>(e))
      return write(s->cond) && write(s->yes) && write(s->no) && step({Formula::Do::kSelect}, 2);
    return false;
  }

  std::vector<Formula::Step> steps;

 private:
  static bool widens(ir::Type from, ir::Type to) {
    return from.is_bool() || to.is_index() || (from.is_int() && to.is_int() && from.bits <= to.bits);
  }
  // Data would wrap, which steps do not.
  static bool known(const ir::Binary& b, ir::Type type) {
    if (ir::is_comparison(b.op)) return !(b.a.type().is_uint() && b.a.type().bits == 64);
    return type.is_index() || b.op == BinOp::kAnd || b.op == BinOp::kOr;
  }
  bool push(Formula::Step s) {
    steps.push_back(s);
    return ++depth_ <= Formula::kDeepest;
  }
  bool step(Formula::Step s, size_t fewer) {
    steps.push_back(s);
    depth_ -= fewer;
    return true;
  }

  std::span<const ir::Var> scalars_;
  size_t depth_ = 0;
};

namespace {

int64_t saturated(BinOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  const bool left = op == BinOp::kAdd   ? __builtin_add_overflow(a, b, &out)
                    : op == BinOp::kSub ? __builtin_sub_overflow(a, b, &out)
                                        : __builtin_mul_overflow(a, b, &out);
  if (!left) return out;
  const bool negative = op == BinOp::kMul ? (a < 0) != (b < 0) : a < 0;
  return negative ? INT64_MIN : INT64_MAX;
}

int64_t divided(BinOp op, int64_t a, int64_t b) {
  const bool modulo = op == BinOp::kFloorMod || op == BinOp::kTruncMod;
  if (b == 0) return 0;
  if (b == -1) return modulo ? 0 : saturated(BinOp::kSub, 0, a);
  const int64_t quotient = a / b, rest = a % b;
  const bool floors = op == BinOp::kFloorDiv || op == BinOp::kFloorMod;
  const bool down = floors && rest != 0 && (rest < 0) != (b < 0);
  return modulo ? rest + (down ? b : 0) : quotient - down;
}

int64_t apply(BinOp op, int64_t a, int64_t b) {
  switch (op) {
    case BinOp::kAdd:
    case BinOp::kSub:
    case BinOp::kMul:
      return saturated(op, a, b);
    case BinOp::kMin:
      return std::min(a, b);
    case BinOp::kMax:
      return std::max(a, b);
    case BinOp::kEq:
      return a == b;
    case BinOp::kNe:
      return a != b;
    case BinOp::kLt:
      return a < b;
    case BinOp::kLe:
      return a <= b;
    case BinOp::kGt:
      return a > b;
    case BinOp::kGe:
      return a >= b;
    case BinOp::kAnd:
      return a && b;
    case BinOp::kOr:
      return a || b;
    default:
      return divided(op, a, b);
  }
}

int64_t value_of(ir::Type type, const void* at) {
  int64_t value = 0;
  std::memcpy(&value, at, static_cast<size_t>(type.bytes()));
  const int unused = 64 - 8 * type.bytes();
  if (type.is_bool()) return value != 0;
  return type.is_uint() ? value : static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

}  // namespace

Result<Formula> Formula::of(const Expr& e, std::span<const ir::Var> scalars) {
  FormulaWriter writer(scalars);
  if (!writer.write(e))
    return Diagnostic{
        ErrorKind::kArgument,
        "build: " + ir::to_string(e) + " decides how a kernel is launched, but is not known before it runs",
        {},
        {"it may depend on integer scalars and on the arrays' shapes"}};
  Formula formula;
  formula.steps_ = std::move(writer.steps);
  formula.expr_ = e;
  return formula;
}

int64_t Formula::evaluate(void* const* scalars) const {
  int64_t stack[kDeepest] = {0};
  size_t top = 0;  // of what is on it
  for (const Step& s : steps_) {
    if (s.what == Do::kPush) stack[top++] = s.value;
    if (s.what == Do::kScalar) stack[top++] = value_of(s.type, scalars[s.value]);
    if (s.what == Do::kNot) stack[top - 1] = !stack[top - 1];
    if (s.what == Do::kBinary) {
      --top;
      stack[top - 1] = apply(s.op, stack[top - 1], stack[top]);
    }
    if (s.what == Do::kSelect) {
      top -= 2;
      stack[top - 1] = stack[top - 1] ? stack[top] : stack[top + 1];
    }
  }
  return stack[0];
}

}  // namespace tw::runtime::cuda
