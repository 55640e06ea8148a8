// Stages that read each element where they write it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "te/promote.h"
#include "tensorwright/te_functions.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

using ir::BinOp;

bool pointwise(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool()) return false;
  const Tensor other = m.like(t);
  const Type type = t.dtype();
  const int64_t c = m.random().below(5) + 1;
  const int kind = static_cast<int>(m.random().below(6));
  const Facts x = m.facts(t), y = m.facts(other), k{static_cast<double>(c), 1, 0};
  const Facts facts = kind == 0                ? add(x, k)
                      : kind == 1 || kind == 5 ? add(mul(x, k), y)
                      : kind == 2              ? join(x, y)
                      : kind == 3              ? add(join(x, k), y)
                                               : add(mul(x, y), k);
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v)), b = other(exprs(v)), n = constant(static_cast<double>(c), type);
    if (kind == 0) return a + n;
    if (kind == 1) return a * n - b;
    if (kind == 2) return te::max(a, b);
    if (kind == 3) return te::min(a, n) + b;
    if (kind == 5) return b - a * n;
    return a * b + n;
  });
}

// Which arm is taken must not depend on a rounding: exact operands only.
bool compare(Maker& m, const Tensor& t) {
  const Tensor other = m.like(t);
  if (t.dtype().is_bool() || !m.facts(t).exact() || !m.facts(other).exact()) return false;
  const Type type = t.dtype();
  const BinOp op = m.random().one_of({BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe, BinOp::kEq, BinOp::kNe});
  const bool both = m.random().chance(30), opposite = m.random().chance(30);
  const Facts facts = add(join(m.facts(t), m.facts(other)), {2, 1, 0});
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v)), b = other(exprs(v)), two = constant(2, type);
    Expr cond = te::arith(op, a, b);
    if (both) cond = te::any({te::all({cond, te::arith(BinOp::kLt, a, two)}), te::arith(BinOp::kEq, b, two)});
    if (opposite) cond = ir::logical_not(cond);
    return te::select(cond, b, a + two);
  });
}

bool rounding(Maker& m, const Tensor& t) {
  const Facts x = m.facts(t);
  if (!t.dtype().is_float() || !x.exact()) return false;
  const int kind = static_cast<int>(m.random().below(6));
  const Facts facts{x.bound + 1, kind == 4 ? x.grid : std::max(x.grid, 1.0), 0};
  return m.define(t.shape(), facts, [&](const Vars& v) -> Expr {
    const Expr a = t(exprs(v));
    if (kind == 0) return te::floor(a);
    if (kind == 1) return te::ceil(a);
    if (kind == 2) return te::trunc(a);
    if (kind == 3) return te::round(a);
    if (kind == 5) return te::nearbyint(a);
    return te::abs(a);
  });
}

namespace {

// A function of floats, with the largest slope and value that it has for operands up to `most`.
struct Function {
  Expr (*apply)(const Expr& x);
  double (*slope)(double most);
  double (*bound)(double most);
  double domain = 1e9;
};

Expr above_one(const Expr& x) { return te::abs(x) + constant(1, x.type()); }

const std::vector<Function>& functions() {
  constexpr auto one = [](double) { return 1.0; };
  constexpr auto two = [](double) { return 2.0; };
  constexpr auto itself = [](double x) { return x; };
  constexpr auto exponential = [](double x) { return std::exp(x); };
  constexpr auto logarithm = [](double x) { return 2 * std::log(x + 1) + 1; };
  static const std::vector<Function> table = {
      {[](const Expr& x) { return te::exp(x); }, exponential, exponential, 8},
      {[](const Expr& x) { return te::exp2(x); }, exponential, exponential, 8},
      {[](const Expr& x) { return te::expm1(x); }, exponential, exponential, 8},
      {[](const Expr& x) { return te::tanh(x); }, one, one},
      {[](const Expr& x) { return te::sigmoid(x); }, one, one},
      {[](const Expr& x) { return te::erf(x); }, two, one},
      {[](const Expr& x) { return te::sin(x); }, one, one},
      {[](const Expr& x) { return te::cos(x); }, one, one},
      {[](const Expr& x) { return te::tan(te::tanh(x)); }, [](double) { return 4.0; }, two},
      {[](const Expr& x) { return te::atan(x); }, one, two},
      {[](const Expr& x) { return te::log(above_one(x)); }, two, logarithm},
      {[](const Expr& x) { return te::log2(above_one(x)); }, two, logarithm},
      {[](const Expr& x) { return te::log10(above_one(x)); }, two, logarithm},
      {[](const Expr& x) { return te::log1p(te::abs(x)); }, two, logarithm},
      {[](const Expr& x) { return te::sqrt(above_one(x)); }, one, [](double x) { return std::sqrt(x + 1); }},
      {[](const Expr& x) { return te::cbrt(above_one(x)); }, one, [](double x) { return std::cbrt(x + 1); }},
      {[](const Expr& x) { return te::rsqrt(above_one(x)); }, one, one},
      {[](const Expr& x) { return te::divide(x, above_one(x)); }, one, one},
      {[](const Expr& x) { return te::fma(x, x, x); }, [](double x) { return 2 * x + 1; },
       [](double x) { return x * x + x; }},
      {[](const Expr& x) { return te::select(te::isnan(x), constant(1, x.type()), te::abs(x)); }, one, itself},
      {[](const Expr& x) { return te::asin(te::tanh(x) * constant(0.5, x.type())); }, two, two},
      {[](const Expr& x) { return te::acos(te::tanh(x) * constant(0.5, x.type())); }, two, [](double) { return 4.0; }},
      {[](const Expr& x) { return te::sinh(x); }, exponential, exponential, 8},
      {[](const Expr& x) { return te::cosh(x); }, exponential, exponential, 8},
      {[](const Expr& x) { return te::asinh(x); }, one, logarithm},
      {[](const Expr& x) { return te::acosh(above_one(above_one(x))); }, two, logarithm},
      {[](const Expr& x) { return te::atanh(te::tanh(x) * constant(0.5, x.type())); }, two, two},
      {[](const Expr& x) { return te::exp10(x); }, [](double x) { return 3 * std::pow(10, x); },
       [](double x) { return std::pow(10, x); }, 4},
      {[](const Expr& x) { return te::atan2(x, above_one(x)); }, two, two},
      {[](const Expr& x) { return te::hypot(x, above_one(x)); }, two, [](double x) { return 2 * x + 1; }},
      {[](const Expr& x) { return te::copysign(above_one(x), constant(-1, x.type())); }, one,
       [](double x) { return x + 1; }},
      {[](const Expr& x) { return te::ldexp(x, ir::int_imm(Type::i(32), 3)); }, [](double) { return 8.0; },
       [](double x) { return 8 * x; }},
      {[](const Expr& x) { return te::power(above_one(x), constant(0.5, x.type())); }, one,
       [](double x) { return std::sqrt(x + 1); }},
  };
  return table;
}

}  // namespace

bool math(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (!type.is_float()) return false;
  const Facts x = m.facts(t);
  const Function& f = m.random().pick(functions());
  if (x.bound + x.error > f.domain) return false;
  const Facts facts = function_of(x, f.slope(x.bound + x.error), f.bound(x.bound), type);
  return m.define(t.shape(), facts, [&](const Vars& v) { return f.apply(t(exprs(v))); });
}

// Stored in eight bits, and back: nothing is calculated with those.
bool float8(Maker& m, const Tensor& t) {
  const Type type = t.dtype(), small = m.random().chance(50) ? Type::e4m3() : Type::e5m2();
  if (!type.is_float() || !m.facts(t).exact()) return false;
  if (!m.define(t.shape(), m.facts(t), [&](const Vars& v) { return te::astype(t(exprs(v)), to_string(small)); }))
    return false;
  const Tensor stored = m.last();
  return m.define(t.shape(), m.facts(stored),
                  [&](const Vars& v) { return te::astype(stored(exprs(v)), to_string(type)); });
}

// Stored two to a byte, and back; or read from an argument that is stored so.
bool int4(Maker& m, const Tensor& t) {
  const Type type = t.dtype(), small = m.random().chance(50) ? Type::i(4) : Type::u(4);
  const Facts facts{small.is_int() ? 8.0 : 15.0, 1, 0};
  const Type back = type.is_bool() ? Type::i(32) : type;
  if (m.random().chance(30)) {
    const Tensor packed = m.placeholder(t.shape(), small, facts);
    return m.define(t.shape(), facts, [&](const Vars& v) { return te::astype(packed(exprs(v)), to_string(back)); });
  }
  if (!m.facts(t).exact()) return false;
  if (!m.define(t.shape(), facts, [&](const Vars& v) { return te::astype(t(exprs(v)), to_string(small)); }))
    return false;
  const Tensor stored = m.last();
  return m.define(t.shape(), facts, [&](const Vars& v) { return te::astype(stored(exprs(v)), to_string(back)); });
}

bool bits(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (!type.is_integer()) return false;
  const Tensor other = m.like(t);
  const BinOp op = m.random().one_of({BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShl, BinOp::kShr});
  const Facts facts{std::ldexp(1.0, type.bits), 1, 0};
  if (m.random().chance(25)) {
    const bool count = m.random().chance(50);
    return m.define(t.shape(), {64, 1, 0},
                    [&](const Vars& v) { return count ? te::popcount(t(exprs(v))) : te::clz(t(exprs(v))); });
  }
  return m.define(t.shape(), facts, [&](const Vars& v) { return te::arith(op, t(exprs(v)), other(exprs(v))); });
}

// Of integers any, also negative exponents; of exact floats whole ones, whose results are exact where they fit.
bool power(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (type.is_bool() || (type.is_float() && !m.facts(t).exact())) return false;
  if (type.is_float()) {
    const Facts x = m.facts(t), square = mul(x, x);
    const int exponent = static_cast<int>(m.random().below(3)) + 1;
    return m.define(t.shape(),
                    exponent == 1   ? x
                    : exponent == 2 ? square
                                    : mul(square, x),
                    [&](const Vars& v) { return te::power(t(exprs(v)), constant(exponent, type)); });
  }
  const Tensor other = m.like(t);
  const bool by_constant = m.random().chance(40);
  const double exponent = m.random().one_of({0.0, 2.0, 3.0, 10.0});
  return m.define(t.shape(), {std::ldexp(1.0, type.bits), 1, 0}, [&](const Vars& v) {
    return te::power(t(exprs(v)), by_constant ? constant(exponent, type) : other(exprs(v)));
  });
}

// Zero is among the divisors.
bool division(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (!type.is_integer()) return false;
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

// To a half and back, with many values half-way between two halves. Operands are exact: what rounding would tip over
// the middle moves by more than facts say.
bool halfway(Maker& m, const Tensor& t) {
  const Type type = t.dtype(), half = m.random().chance(50) ? Type::bf16() : Type::f(16);
  const Facts x = m.facts(t);
  if (!type.is_float() || type.is_half() || !x.exact() || x.grid < 1 || x.bound > 500) return false;
  const double first = half == Type::bf16() ? 257 : 2049;  // above it the halves are two apart
  return m.define(t.shape(), {37 * x.bound + first + 64, 1, 0}, [&](const Vars& v) {
    const Expr large = t(exprs(v)) * constant(37, type) + constant(first, type);
    return te::astype(te::astype(large, to_string(half)), to_string(type));
  });
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
