#include "src/lower/near.h"

#include <functional>

#include "src/ir/equal.h"
#include "src/ir/walk.h"
#include "src/lower/math/functions.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kFewest = 2, kMost = 16;  // iterations: a thread keeps the arguments of all
constexpr double kNear = 87;                // e^87 and e^-87 are normal numbers

// The call of exp that the value evaluates in any case; empty where there are several, or none.
class Evaluated {
 public:
  static Expr call_in(const Expr& value) {
    Evaluated in;
    in.visit(value);
    return in.several_ ? Expr() : in.found_;
  }

 private:
  void visit(const Expr& e) {
    if (const auto* c = as<Call>(e)) {
      if (c->fn == Fn::kExp && e.type() == Type::f(32)) {
        several_ = several_ || (!!found_ && !equal(found_, e));
        found_ = e;
      }
      for (const Expr& arg : c->args) visit(arg);
    } else if (const auto* b = as<Binary>(e)) {
      visit(b->a);
      if (b->op != BinOp::kAnd && b->op != BinOp::kOr) visit(b->b);
    } else if (const auto* t = as<Cast>(e)) {
      visit(t->value);
    }
  }

  Expr found_;
  bool several_ = false;
};

Stmt with_near(const Stmt& s, bool fused) {
  const auto* f = as<For>(s);
  const auto* st = f ? as<Store>(f->body) : nullptr;
  const auto extent = st ? as_int(f->extent) : std::nullopt;
  if (!extent || *extent < kFewest || *extent > kMost || !!st->pred ||
      (f->kind != ForKind::kSerial && f->kind != ForKind::kUnrolled && f->kind != ForKind::kVectorized))
    return s;
  const Expr exp = Evaluated::call_in(st->value);
  if (!exp || !uses_var(exp, f->var) || reads(exp, st->buffer)) return s;
  const Expr first(0), argument = as<Call>(exp)->args[0];
  const Buffer x("x", Type::f(32), {f->extent}, Scope::kLocal);
  const Buffer all("near", Type::boolean(), {Expr(1)}, Scope::kLocal);
  const auto of_each = [&](ForKind kind, const std::function<Stmt(const Var&)>& body) {
    const Var i(f->var.name());
    return loop(i, f->extent, body(i), kind);
  };
  const auto stored = [&](const std::function<Expr(const Expr&)>& of_argument) {
    return of_each(f->kind, [&](const Var& i) {
      const auto value = [&](const Expr& e) { return equal(e, exp) ? of_argument(load(x, {f->var})) : e; };
      return substitute(store(st->buffer, st->at, rewrite(st->value, value)), {{f->var.id(), i}});
    });
  };
  const Stmt fill =
      of_each(f->kind, [&](const Var& i) { return store(x, {i}, substitute(argument, {{f->var.id(), i}})); });
  const Stmt test = of_each(ForKind::kSerial, [&](const Var& i) {
    const Expr is_near = call(Fn::kAbs, {load(x, {i})}) <= float_imm(Type::f(32), kNear);
    return store(all, {first}, select(is_near, load(all, {first}), boolean(false)));
  });
  const auto near_exp = [&](const Expr& e) {
    math::Computation m(e.type(), fused);
    return m.finish(math::near_exp(m, m.name("x", e)));
  };
  const Stmt either =
      if_then(load(all, {first}), stored(near_exp), stored([](const Expr& e) { return call(Fn::kExp, {e}); }));
  return allocate(x, seq({fill, allocate(all, seq({store(all, {first}, boolean(true)), test, either}))}));
}

Stmt visit(const Stmt& s, bool fused) {
  const Stmt done = with_near(s, fused);
  const auto* f = as<For>(s);
  if (!done.same_as(s) || (f && f->kind == ForKind::kVectorized)) return done;
  return map_children(s, [&](const Stmt& child) { return visit(child, fused); }, [](const Expr& e) { return e; });
}

}  // namespace

Program near(const Program& p, const Target& target) {
  Program out = p;
  out.body = visit(p.body, target.abilities.fma);
  return out;
}

}  // namespace tw::lower
