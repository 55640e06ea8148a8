// Stages that read each element where they write it.
#include <algorithm>
#include <cmath>

#include "te/promote.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

using ir::BinOp;

bool pointwise(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool()) return false;
  const Tensor other = m.like(t);
  const Type type = t.dtype();
  const int64_t c = m.random().below(5) + 1;
  const int kind = static_cast<int>(m.random().below(5));
  const Facts x = m.facts(t), y = m.facts(other), k{static_cast<double>(c), 1, 0};
  const Facts facts = kind == 0   ? add(x, k)
                      : kind == 1 ? add(mul(x, k), y)
                      : kind == 2 ? join(x, y)
                      : kind == 3 ? add(join(x, k), y)
                                  : add(mul(x, y), k);
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v)), b = other(exprs(v)), n = constant(static_cast<double>(c), type);
    if (kind == 0) return a + n;
    if (kind == 1) return a * n - b;
    if (kind == 2) return te::max(a, b);
    if (kind == 3) return te::min(a, n) + b;
    return a * b + n;
  });
}

// Which arm is taken must not depend on a rounding: exact operands only.
bool compare(Maker& m, const Tensor& t) {
  const Tensor other = m.like(t);
  if (t.dtype().is_bool() || !m.facts(t).exact() || !m.facts(other).exact()) return false;
  const Type type = t.dtype();
  const BinOp op = m.random().one_of({BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe, BinOp::kEq, BinOp::kNe});
  const bool both = m.random().chance(30);
  const Facts facts = add(join(m.facts(t), m.facts(other)), {2, 1, 0});
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v)), b = other(exprs(v)), two = constant(2, type);
    Expr cond = te::arith(op, a, b);
    if (both) cond = te::any({te::all({cond, te::arith(BinOp::kLt, a, two)}), te::arith(BinOp::kEq, b, two)});
    return te::select(cond, b, a + two);
  });
}

bool rounding(Maker& m, const Tensor& t) {
  const Facts x = m.facts(t);
  if (!t.dtype().is_float() || !x.exact()) return false;
  const int kind = static_cast<int>(m.random().below(5));
  const Facts facts{x.bound + 1, kind == 4 ? x.grid : std::max(x.grid, 1.0), 0};
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v));
    if (kind == 0) return te::floor(a);
    if (kind == 1) return te::ceil(a);
    if (kind == 2) return te::trunc(a);
    if (kind == 3) return te::round(a);
    return te::abs(a);
  });
}

bool math(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  const Facts x = m.facts(t);
  if (!type.is_float()) return false;
  const int kind = static_cast<int>(m.random().below(8));
  if (kind == 0 && x.bound > 8) return false;
  static const double kSlopes[] = {0, 1, 0.5, 0.25, 1.2, 0.5, 1, 1};
  const double bounds[] = {
      std::exp(std::min(x.bound, 9.0)), 1, 1, 1, 1, std::sqrt(x.bound + 1), std::log(x.bound + 1), x.bound};
  const double slope = kind == 0 ? std::exp(std::min(x.bound, 9.0) + x.error) : kSlopes[kind];
  return m.define(t.shape(), function_of(x, slope, bounds[kind], type), [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v)), one = constant(1, type), above = te::abs(a) + one;
    if (kind == 0) return te::exp(a);
    if (kind == 1) return te::tanh(a);
    if (kind == 2) return te::rsqrt(above);
    if (kind == 3) return te::sigmoid(a);
    if (kind == 4) return te::erf(a);
    if (kind == 5) return te::sqrt(above);
    if (kind == 6) return te::log(above);
    return te::divide(a, above);
  });
}

bool bits(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (type.is_float() || type.is_bool()) return false;
  const Tensor other = m.like(t);
  const BinOp op = m.random().one_of({BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShl, BinOp::kShr});
  const Facts facts{std::ldexp(1.0, type.bits), 1, 0};
  return m.define(t.shape(), facts, [&](const Vars& v) { return te::arith(op, t(exprs(v)), other(exprs(v))); });
}

// Zero is among the divisors.
bool division(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (type.is_float() || type.is_bool()) return false;
  const Tensor other = m.like(t);
  const BinOp op = m.random().one_of({BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod});
  const bool by_constant = m.random().chance(40);
  const double divisor = m.random().one_of({2.0, 3.0, 5.0, 8.0});
  return m.define(t.shape(), add(m.facts(t), m.facts(other)), [&](const Vars& v) {
    return te::arith(op, t(exprs(v)), by_constant ? constant(divisor, type) : other(exprs(v)));
  });
}

bool cast(Maker& m, const Tensor& t) {
  const Type to = m.random().one_of({Type::f(32), Type::f(32), Type::f(64), Type::f(16), Type::bf16(), Type::i(8),
                                     Type::i(16), Type::i(32), Type::i(32), Type::i(64), Type::u(8), Type::u(16),
                                     Type::u(32), Type::u(64), Type::boolean()});
  const Facts x = m.facts(t);
  if (to == t.dtype() || (!to.is_float() && !x.exact())) return false;
  if (to.is_bool()) {  // and back to something that one can compute with
    return m.define(t.shape(), {1, 1, 0}, [&](const Vars& v) {
      return te::astype(te::arith(BinOp::kGt, t(exprs(v)), constant(1, t.dtype())), "bool");
    });
  }
  return m.define(t.shape(), x, [&](const Vars& v) { return te::astype(t(exprs(v)), to_string(to)); });
}

// By an argument of the kernel.
bool scaled(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool() || t.dtype().is_half()) return false;
  const Expr s = te::astype(Expr(m.scalar(t.dtype())), to_string(t.dtype()));
  return m.define(t.shape(), add(mul(m.facts(t), {3, 1, 0}), {3, 1, 0}),
                  [&](const Vars& v) { return t(exprs(v)) * s + s; });
}

bool diamond(Maker& m, const Tensor& t) {
  if (!pointwise(m, t)) return false;
  const Tensor a = m.last();
  if (a.op()->is_placeholder() || a.dtype() != t.dtype()) return true;
  m.define(t.shape(), add(m.facts(a), mul(m.facts(t), m.facts(a))),
           [&](const Vars& v) { return a(exprs(v)) + t(exprs(v)) * a(exprs(v)); });
  return true;
}

}  // namespace tw::diff
