// Calls of functions become arithmetic.

#include "src/lower/intrinsics.h"

#include <algorithm>
#include <utility>

#include "src/ir/walk.h"
#include "src/lower/math/functions.h"

namespace tw::lower {

using namespace ir;

namespace {

Expr without_rounding_calls(const Expr& e, bool fused) {
  const auto* c = as<Call>(e);
  if (!c) return e;
  math::Computation m(e.type(), fused);
  const auto arithmetic = [&](auto function) { return m.finish(function(m, m.name("x", c->args[0]))); };
  switch (c->fn) {
    case Fn::kFloor:
      return arithmetic(math::floor);
    case Fn::kCeil:
      return arithmetic(math::ceil);
    case Fn::kRound:
      return arithmetic(math::round);
    case Fn::kTrunc:
      return arithmetic(math::trunc);
    default:
      return e;
  }
}

using Expansion = Expr (*)(math::Computation&, const Expr&);
constexpr std::pair<Fn, Expansion> kUnary[] = {
    {Fn::kExp, math::exp},     {Fn::kLog, math::log},     {Fn::kTanh, math::tanh}, {Fn::kSigmoid, math::sigmoid},
    {Fn::kErf, math::erf},     {Fn::kSin, math::sin},     {Fn::kCos, math::cos},   {Fn::kTan, math::tan},
    {Fn::kAtan, math::atan},   {Fn::kLog2, math::log2},   {Fn::kExp2, math::exp2}, {Fn::kLog10, math::log10},
    {Fn::kExpm1, math::expm1}, {Fn::kLog1p, math::log1p}, {Fn::kCbrt, math::cbrt}, {Fn::kTF32, math::tf32}};

Expr without_instruction(math::Computation& m, const Call& fma) {
  if (m.is_double()) {
    throw Error({ErrorKind::kTarget,
                 "fma: the target must have fused multiply-adds for float64",
                 {},
                 {"write a * b + c, or choose a target with the attribute: -mattr=+fma"}});
  }
  const Expr a = m.name("a", fma.args[0]), b = m.name("b", fma.args[1]);
  return m.finish(math::fma(m, a, b, m.name("c", fma.args[2])));
}

// `emulates`: fma itself, which the expansions use only where it is fused.
Expr expanded(const Expr& e, const Target& target, bool emulates) {
  const auto* c = as<Call>(e);
  if (!c) return e;
  const bool full = e.type().bits * e.type().lanes % target.abilities.vector_bits == 0;
  math::Computation m(e.type(), target.abilities.fma, target.abilities.scaling && full);
  if (c->fn == Fn::kPow && e.type().is_float()) {
    const Expr x = m.name("x", c->args[0]);
    const auto* repeated = as<Broadcast>(c->args[1]);
    if (const auto* y = as<FloatImm>(repeated ? repeated->value : c->args[1]))
      if (const auto power = math::constant_pow(m, x, y->value)) return m.finish(*power);
    return m.finish(math::pow(m, x, m.name("y", c->args[1])));
  }
  if (c->fn == Fn::kPow) return m.finish(math::whole_pow(m, m.name("x", c->args[0]), c->args[1]));
  if (c->fn == Fn::kRsqrt) return binary(BinOp::kDiv, m.value(1), call(Fn::kSqrt, {c->args[0]}));
  if (c->fn == Fn::kFma && emulates) return without_instruction(m, *c);
  for (const auto& [fn, expansion] : kUnary) {
    if (fn == c->fn) return m.finish(expansion(m, m.name("x", c->args[0])));
  }
  return e;
}

}  // namespace

bool becomes_polynomial(Fn fn) {
  return fn == Fn::kPow ||
         (fn != Fn::kTF32 && std::ranges::find(kUnary, fn, &std::pair<Fn, Expansion>::first) != std::end(kUnary));
}

Program intrinsics(const Program& p, const Target& target) {
  const bool fused = target.abilities.fma, emulates = !fused && target.kind != "interp";
  const auto same = [](const Stmt& s) { return s; };
  Program out = p;
  out.body = rewrite(p.body, same, [&](const Expr& e) { return expanded(e, target, emulates); });
  if (!target.abilities.rounding)
    out.body = rewrite(out.body, same, [&](const Expr& e) { return without_rounding_calls(e, fused); });
  return out;
}

}  // namespace tw::lower
