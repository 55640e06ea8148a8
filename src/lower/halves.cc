// Half arithmetic in float32.

#include "src/lower/halves.h"

#include <cmath>
#include <unordered_map>

#include "src/ir/scalars.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/lower/math/half_bits.h"

namespace tw::lower {

using namespace ir;

namespace {

Type float32_like(Type t) { return Type::f(32, t.lanes); }

// The value as it is computed: halves as float32 that hold a half's value exactly, everything else as it was.
class Widener {
 public:
  Widener(bool converts_float16, bool converts_bfloat16)
      : converts_float16_(converts_float16), converts_bfloat16_(converts_bfloat16) {}

  Expr visit(const Expr& e) {
    if (!e) return e;
    auto [it, fresh] = done_.try_emplace(e.get());
    if (!fresh) return it->second;
    const Expr out = e.type().is_half() ? half(e) : other(e);
    return done_[e.get()] = out;
  }

  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s); st && st->buffer.element().is_half()) {
      std::vector<Expr> at;
      for (const Expr& i : st->at) at.push_back(visit(i));
      return store(st->buffer, std::move(at), narrowed(st->value), visit(st->pred), st->arrival);
    }
    if (const auto* l = as<LetStmt>(s); l && l->var.type().is_half()) {
      const Expr value = visit(l->value);
      return let_stmt(widened(l->var), value, visit(l->body));
    }
    return map_children(
        s, [&](const Stmt& child) { return visit(child); }, [&](const Expr& child) { return visit(child); });
  }

 private:
  Var widened(const Var& var) {
    return vars_.try_emplace(var.id(), Var(var.name(), float32_like(var.type()))).first->second;
  }

  Expr wide(const Expr& half) const {
    if (converts(half.type())) return cast(float32_like(half.type()), half);
    return math::widen(half);
  }
  Expr narrow(Type half_type, const Expr& x) const {
    if (converts(half_type)) return cast(half_type, x);
    return math::narrow(half_type, x);
  }
  bool converts(Type half) const { return half.code == TypeCode::kFloat ? converts_float16_ : converts_bfloat16_; }
  Expr rounded(Type half_type, const Expr& x) const { return wide(narrow(half_type, x)); }

  // A half expression as 16 bits, without rounding twice where its last operation rounds anyway.
  Expr narrowed(const Expr& e) {
    if (const auto* l = as<Load>(e)) return load_of(*l);
    if (const auto* c = as<Cast>(e)) return narrow(e.type(), source(*c));
    if (const Expr bits = bits_of_choice(e)) return reinterpret(e.type(), bits);
    const Expr exact = unrounded(e);
    return narrow(e.type(), exact ? exact : visit(e));
  }

  // A choice between elements and numbers, which moves bits; empty for others.
  Expr bits_of_choice(const Expr& e) {
    const auto* s = as<Select>(e);
    if (!s) return {};
    const Expr yes = bits_of(s->yes), no = bits_of(s->no);
    return !!yes && !!no ? select(visit(s->cond), yes, no) : Expr();
  }
  Expr bits_of(const Expr& e) {
    const Type bits = Type::u(16, e.type().lanes);
    if (const auto* l = as<Load>(e)) return reinterpret(bits, load_of(*l));
    const auto* same = as<Broadcast>(e);
    const auto* number = as<FloatImm>(same ? same->value : e);
    return number && number->value == 0 && !std::signbit(number->value) ? zero(bits) : bits_of_choice(e);
  }

  // Of a rounding operation, the float32 value before it is rounded; empty for others.
  Expr unrounded(const Expr& e) {
    const Type type = float32_like(e.type());
    if (const auto* b = as<Binary>(e); b && b->op != BinOp::kMin && b->op != BinOp::kMax)
      return binary(b->op, visit(b->a), visit(b->b));
    const auto* c = as<Call>(e);
    if (!c || c->fn == Fn::kReinterpret) return {};
    const bool exact =
        c->fn == Fn::kAbs || c->fn == Fn::kFloor || c->fn == Fn::kCeil || c->fn == Fn::kRound || c->fn == Fn::kTrunc;
    if (exact) return {};
    std::vector<Expr> args;
    for (const Expr& a : c->args) args.push_back(visit(a));
    const Expr out = call(c->fn, std::move(args));
    TW_CHECK(out.type() == type);
    return out;
  }

  // The float32 that a cast to a half starts from.
  Expr source(const Cast& c) {
    const Type from = c.value.type();
    const Expr value = visit(c.value);
    if (from.is_half() || from == float32_like(from)) return value;
    if (from == Type::f(64, from.lanes)) return math::to_odd_float32(value);
    if (from.is_bool() || from.bits <= 16) return cast(float32_like(from), value);
    return math::to_odd_float32(cast(Type::f(64, from.lanes), value));
  }

  Expr load_of(const Load& l) {
    std::vector<Expr> at;
    for (const Expr& i : l.at) at.push_back(visit(i));
    return load(l.buffer, std::move(at), visit(l.pred));
  }

  Expr half(const Expr& e) {
    const Type type = float32_like(e.type());
    if (const Expr exact = unrounded(e)) return rounded(e.type(), exact);
    return match(
        e, [&](const FloatImm& f) { return float_imm(type, f.value); }, [&](const Load& l) { return wide(load_of(l)); },
        [&](const VarRef& v) { return Expr(widened(v.var)); },
        [&](const Cast& c) {
          return c.value.type().is_half() && c.value.type() == e.type() ? visit(c.value) : rounded(e.type(), source(c));
        },
        [&](const Call& c) {
          if (c.fn == Fn::kReinterpret) return wide(reinterpret(e.type(), visit(c.args[0])));
          return call(c.fn, {visit(c.args[0])});
        },
        [&](const Binary& b) { return binary(b.op, visit(b.a), visit(b.b)); },
        [&](const Select& s) { return select(visit(s.cond), visit(s.yes), visit(s.no)); },
        [&](const Broadcast& b) { return broadcast(visit(b.value), b.lanes); },
        [&](const Let& l) {
          if (!l.var.type().is_half()) return let(l.var, visit(l.value), visit(l.body));
          const Expr value = visit(l.value);
          return let(widened(l.var), value, visit(l.body));
        },
        [&](const IntImm&) { return unexpected(e); }, [&](const Not&) { return unexpected(e); },
        [&](const Ramp&) { return unexpected(e); }, [&](const Reduce&) { return unexpected(e); },
        [&](const CallExtern&) { return unexpected(e); }, [&](const Address&) { return unexpected(e); });
  }

  Expr unexpected(const Expr& e) const {
    TW_CHECK(false, "no half can be " + to_string(e));
    return e;
  }

  // An expression that is no half; parts of it may be.
  Expr other(const Expr& e) {
    if (const auto* c = as<Cast>(e); c && c->value.type().is_half()) return cast(e.type(), visit(c->value));
    if (const auto* c = as<Call>(e); c && c->fn == Fn::kReinterpret && c->args[0].type().is_half())
      return reinterpret(e.type(), narrowed(c->args[0]));
    if (const auto* c = as<Call>(e); c && is_dot(c->fn) && dot_form(c->fn).left.is_half())
      return call(c->fn, {visit(c->args[0]), narrowed(c->args[1]), narrowed(c->args[2])});
    if (const auto* l = as<Let>(e); l && l->var.type().is_half()) {
      const Expr value = visit(l->value);
      return let(widened(l->var), value, visit(l->body));
    }
    return map_children(e, [&](const Expr& child) { return visit(child); });
  }

  const bool converts_float16_, converts_bfloat16_;
  std::unordered_map<const ExprNode*, Expr> done_;
  std::unordered_map<uint64_t, Var> vars_;
};

}  // namespace

Program halves(const Program& p, const Target& target) {
  Program out = p;
  // Texts have small functions, or a device its instructions, which read better.
  const bool in_text = target.kind == "c" || target.abilities.device;
  out.body = Widener(in_text || target.abilities.float16, in_text).visit(p.body);
  return out;
}

}  // namespace tw::lower
