// a*b + c becomes fma(a, b, c).

#include "src/lower/fma.h"

#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

const Binary* product(const Expr& e) {
  const auto* b = as<Binary>(e);
  return b && b->op == BinOp::kMul ? b : nullptr;
}

Expr negated(const Expr& e) { return binary(BinOp::kMul, e, float_imm(e.type(), -1.0)); }  // exact

// Of two products the right one is fused: in an update `acc + x*y` that is the new term.
Expr fuse(const Expr& e) {
  const auto* sum = as<Binary>(e);
  const Type t = e.type();
  if (!sum || t.code != TypeCode::kFloat || t.bits < 32) return e;
  if (sum->op == BinOp::kAdd) {
    if (const Binary* p = product(sum->b)) return call(Fn::kFma, {p->a, p->b, sum->a});
    if (const Binary* p = product(sum->a)) return call(Fn::kFma, {p->a, p->b, sum->b});
  }
  if (sum->op == BinOp::kSub) {
    if (const Binary* p = product(sum->b)) return call(Fn::kFma, {negated(p->a), p->b, sum->a});
    if (const Binary* p = product(sum->a)) return call(Fn::kFma, {p->a, p->b, negated(sum->b)});
  }
  return e;
}

}  // namespace

Program fma(const Program& p, const Target& target) {
  if (!target.abilities.fma) return p;
  Program out = p;
  out.body = rewrite(p.body, [](const Stmt& s) { return s; }, fuse);
  return out;
}

}  // namespace tw::lower
