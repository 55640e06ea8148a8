// Index expressions: sums in normal form, quotients and remainders by constants, minima, comparisons.
//
// With n = sum of factor * atom, d > 0 and u a divisor of d:
//   n / d = m + (n - m*d) / d                    multiples of d leave the quotient
//   n / d = q           if n / d is q at both ends of n's range
//   n / d = (M/u + q) / (d/u)                    if n = M + R, u divides M, and R / u is always q
//   n % d = u * ((M/u + q) % (d/u)) + R - q*u    under the same condition
//   u * (x / u) + x % u = x,  and  u * ((x / u) % c) + x % u = x % (u*c); simplify_products.cc where u is no number

#include <algorithm>
#include <numeric>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify_context.h"
#include "src/ir/simplify_pattern.h"

namespace tw::ir {
namespace {

constexpr int kNodesPerForm = 64;  // a sum larger than this is built from the simplified forms of its parts
constexpr size_t kLargestRecombined = 24;
constexpr int kRounds = 16;  // of putting quotients and remainders together

int lanes_of(const Linear& form) {
  for (const Term& t : form.terms)
    if (!t.atom.type().is_scalar()) return t.atom.type().lanes;
  return 1;
}

const Binary* division(const Expr& e, BinOp op) {
  const auto* b = as<Binary>(e);
  const auto by = b && b->op == op ? as_int(b->b) : std::nullopt;
  return by && *by > 0 ? b : nullptr;
}

// Whether a * b is exactly `product`.
bool is_product(int64_t product, int64_t a, int64_t b) {
  int64_t exact;
  return !__builtin_mul_overflow(a, b, &exact) && exact == product;
}

Linear negated(const Linear& form) {
  Linear out;
  out.add(form, -1);
  return out;
}

Linear plus_constant(Linear form, int64_t by) {
  form.add_constant(by);
  return form;
}

// What is left of n after multiples of d > 0 moved to `multiples`; 0 <= constant < d, |factors| < d.
Linear reduce_by(const Linear& n, int64_t d, Linear& multiples) {
  Linear rest;
  rest.overflow = n.overflow;
  for (const Term& t : n.terms) {
    multiples.add(t.atom, t.factor / d);
    rest.add(t.atom, t.factor % d);
  }
  multiples.constant = floor_div(n.constant, d);
  rest.constant = floor_mod(n.constant, d);
  return rest;
}

std::optional<int64_t> constant_quotient(Interval range, int64_t d) {
  if (!range.bounded() || range.lo > range.hi) return std::nullopt;
  const int64_t q = floor_div(range.lo, d);
  if (q != floor_div(range.hi, d)) return std::nullopt;
  return q;
}

}  // namespace

Linear Simplifier::linear(const Expr& e) {
  Linear out;
  int budget = kNodesPerForm;
  accumulate(e, 1, out, budget);
  out.normalise();
  recombine(out);
  return out;
}

void Simplifier::accumulate(const Expr& e, int64_t scale, Linear& out, int& budget) {
  auto scaled_by = [&](int64_t factor) {
    int64_t product;
    if (__builtin_mul_overflow(scale, factor, &product)) out.overflow = true;
    return product;
  };
  const auto* b = as<Binary>(e);
  if (--budget < 0 && b) return decompose(expr(e), scale, out);
  if (const auto* c = as<Broadcast>(e)) return accumulate(c->value, scale, out, budget);
  if (const auto* r = as<Ramp>(e)) return decompose(ramp(expr(r->base), expr(r->stride), r->lanes), scale, out);
  if (!b) return decompose(expr(e), scale, out);
  if (b->op == BinOp::kAdd || b->op == BinOp::kSub) {
    accumulate(b->a, scale, out, budget);
    return accumulate(b->b, b->op == BinOp::kAdd ? scale : scaled_by(-1), out, budget);
  }
  if (b->op != BinOp::kMul) return decompose(expr(e), scale, out);
  if (auto factor = as_int(b->b)) return accumulate(b->a, scaled_by(*factor), out, budget);
  if (auto factor = as_int(b->a)) return accumulate(b->b, scaled_by(*factor), out, budget);
  const Expr left = expr(b->a);
  decompose(product(left, expr(b->b)), scale, out);
}

// One node for each simplified expression: equal atoms are then the same, however deep they are.
Expr Simplifier::interned(const Expr& simplified) {
  if (const Expr* known = memo_.find(simplified)) return *known;
  memo_.insert(simplified, simplified);
  return simplified;
}

Expr Simplifier::built(const Linear& form, int lanes) {
  const Expr e = build(form, lanes);
  return as<Binary>(e) ? interned(e) : e;
}

// a * b, neither of which was written as a constant.
Expr Simplifier::product(const Expr& a, const Expr& b) {
  if (as_int(a) && !as_int(b)) return product(b, a);
  if (auto factor = as_int(b)) {
    Linear out;
    out.add(decompose(a), *factor);
    if (!out.overflow) return built(out, a.type().lanes);
    return binary(BinOp::kMul, a, b);
  }
  const auto *ba = as<Broadcast>(a), *bb = as<Broadcast>(b);
  if (ba && bb) return broadcast(product(ba->value, bb->value), ba->lanes);
  if (ba) return product(b, a);
  if (const auto* r = as<Ramp>(a); r && bb)
    return ramp(product(r->base, bb->value), product(r->stride, bb->value), r->lanes);
  return compare_atoms(a, b) <= 0 ? binary(BinOp::kMul, a, b) : binary(BinOp::kMul, b, a);
}

Expr Simplifier::make_index(BinOp op, const Expr& a, const Expr& b) {
  const int lanes = a.type().lanes;
  const auto divisor = as_int(b);
  Linear form;
  switch (op) {
    case BinOp::kAdd:
      form = decompose(a) + decompose(b);
      break;
    case BinOp::kSub:
      form = decompose(a) - decompose(b);
      break;
    case BinOp::kMul:
      return product(a, b);
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
      if (divisor && *divisor > 0) {
        form = op == BinOp::kFloorDiv ? quotient(decompose(a), *divisor) : remainder(decompose(a), *divisor);
        form.normalise();
        break;
      }
      [[fallthrough]];
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod:
      return divided(op, a, b);
    case BinOp::kMin:
    case BinOp::kMax:
      return extremum(op, decompose(a), decompose(b), a, b);
    case BinOp::kEq:
    case BinOp::kNe:
    case BinOp::kLt:
    case BinOp::kLe:
      return compare_index(op, a, b);
    case BinOp::kGt:
      return compare_index(BinOp::kLt, b, a);
    case BinOp::kGe:
      return compare_index(BinOp::kLe, b, a);
    default:
      return binary(op, a, b);
  }
  recombine(form);
  return form.overflow ? binary(op, a, b) : built(form, lanes);
}

// By d > 0; other divisors have rules.
Linear Simplifier::quotient(const Linear& n, int64_t d) {
  if (d == 1) return n;
  Linear out;
  const Linear rest = reduce_by(n, d, out);
  if (rest.terms.empty()) return out;
  if (auto q = constant_quotient(interval(rest), d)) return plus_constant(out, *q);
  if (auto split = split_multiples(rest, d)) {
    out.add(quotient(split->multiples, d / split->unit));
  } else {
    const int lanes = lanes_of(rest);
    decompose(divided(BinOp::kFloorDiv, built(rest, lanes), int_imm(Type::index(lanes), d)), 1, out);
  }
  out.overflow |= n.overflow;
  out.normalise();
  return out;
}

Linear Simplifier::remainder(const Linear& n, int64_t d) {
  if (d == 1) return Linear::point(0);
  Linear multiples, out;
  const Linear rest = reduce_by(n, d, multiples);
  if (rest.terms.empty()) return rest;
  if (auto q = constant_quotient(interval(rest), d)) {
    out = rest;
    out.add_constant(*q, -d);
    return out;
  }
  if (auto split = split_multiples(rest, d)) {
    out.add(remainder(split->multiples, d / split->unit), split->unit);
    out.add(split->rest);
  } else {
    const int lanes = lanes_of(rest);
    decompose(divided(BinOp::kFloorMod, built(rest, lanes), int_imm(Type::index(lanes), d)), 1, out);
  }
  out.overflow |= n.overflow;
  out.normalise();
  return out;
}

std::optional<Simplifier::Multiples> Simplifier::split_multiples(const Linear& n, int64_t d) {
  std::vector<int64_t> units;
  for (const Term& t : n.terms) units.push_back(std::gcd(t.factor, d));
  std::sort(units.rbegin(), units.rend());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (int64_t unit : units) {
    if (unit <= 1) break;
    Multiples out{{}, Linear::point(n.constant), unit};
    for (const Term& t : n.terms) {
      if (t.factor % unit == 0) {
        out.multiples.add(t.atom, t.factor / unit);
      } else {
        out.rest.add(t.atom, t.factor);
      }
    }
    if (auto q = constant_quotient(interval(out.rest), unit)) {
      out.multiples.add_constant(*q);
      out.rest.add_constant(*q, -unit);
      return out;
    }
  }
  return std::nullopt;
}

// An operation by rules alone, both operands as they are.
Expr Simplifier::divided(BinOp op, const Expr& a, const Expr& b) {
  const auto va = as_int(a), vb = as_int(b);
  if (va && vb) {
    const int64_t value = op == BinOp::kFloorDiv   ? floor_div(*va, *vb)
                          : op == BinOp::kFloorMod ? floor_mod(*va, *vb)
                          : op == BinOp::kTruncDiv ? trunc_div(*va, *vb)
                                                   : trunc_mod(*va, *vb);
    return int_imm(a.type(), value);
  }
  const auto *ba = as<Broadcast>(a), *bb = as<Broadcast>(b);
  if (ba && bb) return broadcast(divided(op, ba->value, bb->value), ba->lanes);
  const Expr e = binary(op, a, b);
  const Expr ruled = apply_first(index_rules(*e), e, *this);
  return ruled ? ruled : interned(e);
}

// Puts x / c and x % c together again where a sum has both.
void Simplifier::recombine(Linear& form) {
  bool again = form.terms.size() > 1 && form.terms.size() <= kLargestRecombined;
  for (int round = 0; again && round < kRounds; ++round) {
    again = false;
    for (size_t i = 0; i < form.terms.size() && !again; ++i) {
      if (division(form.terms[i].atom, BinOp::kFloorMod))
        again = recombine_term(form, i);
      else
        again = recombine_product(form, i);
    }
  }
}

bool Simplifier::recombine_term(Linear& form, size_t i) {
  const Term mod = form.terms[i];
  const auto& [op, x, by] = std::get<Binary>(mod.atom->kind);
  const int64_t c = *as_int(by);
  auto replace = [&](size_t other, const Linear& with, int64_t scale) {
    const Term partner = form.terms[other];
    form.add(mod.atom, -mod.factor);
    form.add(partner.atom, -partner.factor);
    form.add(with, scale);
    form.normalise();
    return true;
  };
  const Linear whole = decompose(x), q = quotient(whole, c);
  const Binary* inner = division(x, BinOp::kFloorDiv);
  for (size_t j = 0; j < form.terms.size(); ++j) {
    if (j == i) continue;
    const Term& t = form.terms[j];
    if (q.is_atom() && is_product(t.factor, mod.factor, c) && identical(t.atom, q.terms[0].atom))
      return replace(j, whole, mod.factor);
    const Binary* low = inner ? division(t.atom, BinOp::kFloorMod) : nullptr;
    if (!low || !identical(low->a, inner->a) || !identical(low->b, inner->b)) continue;
    int64_t both;
    const int64_t unit = *as_int(low->b);
    if (is_product(mod.factor, t.factor, unit) && !__builtin_mul_overflow(c, unit, &both))
      return replace(j, remainder(decompose(low->a), both), t.factor);
  }
  return false;
}

Expr Simplifier::extremum(BinOp op, const Linear& a, const Linear& b, const Expr& left, const Expr& right) {
  const Linear difference = op == BinOp::kMin ? a - b : b - a;
  if (difference.overflow) return binary(op, left, right);
  if (is_negative(plus_constant(difference, -1))) return left;
  if (is_negative(plus_constant(negated(difference), -1))) return right;
  Linear common, only_a = Linear::point(a.constant), only_b = Linear::point(b.constant);
  for (const Term& t : a.terms) {
    const bool shared = std::any_of(b.terms.begin(), b.terms.end(),
                                    [&](const Term& u) { return t.factor == u.factor && identical(t.atom, u.atom); });
    (shared ? common : only_a).add(t.atom, t.factor);
  }
  for (const Term& t : b.terms) {
    const bool shared =
        std::any_of(common.terms.begin(), common.terms.end(), [&](const Term& u) { return identical(t.atom, u.atom); });
    if (!shared) only_b.add(t.atom, t.factor);
  }
  const int lanes = std::max(lanes_of(only_a), lanes_of(only_b));
  Expr x = built(only_a, lanes), y = built(only_b, lanes);
  if (as_int(x) || (!as_int(y) && compare_atoms(x, y) > 0)) std::swap(x, y);
  const Expr e = binary(op, x, y), flipped = binary(op, y, x);
  Expr ruled = apply_first(index_rules(*e), e, *this);
  if (!ruled) ruled = apply_first(index_rules(*flipped), flipped, *this);
  decompose(ruled ? ruled : interned(e), 1, common);
  common.normalise();
  return built(common, left.type().lanes);
}

bool Simplifier::is_negative(const Linear& form) {
  if (form.overflow) return false;
  if (interval(form).hi < 0) return true;
  for (const Linear& known : negative_) {
    const Linear above = form - known;  // known <= -1, so form <= above - 1
    if (!above.overflow && interval(above).hi <= 0) return true;
  }
  return false;
}

Expr Simplifier::compare_index(BinOp op, const Expr& a, const Expr& b) {
  const Type type = Type::boolean(a.type().lanes);
  Linear form = decompose(a) - decompose(b);
  if (op == BinOp::kLe) form.add_constant(-1);
  if (form.overflow) return binary(op, a, b);
  const bool ordered = op == BinOp::kLt || op == BinOp::kLe;
  int64_t unit = 0;
  for (const Term& t : form.terms) unit = std::gcd(unit, t.factor);
  const bool divides = unit > 0 && (ordered || form.constant % unit == 0);
  for (Term& t : form.terms) t.factor /= divides ? unit : 1;
  if (divides) form.constant = floor_div(form.constant, unit);
  if (ordered) {
    if (is_negative(form)) return int_imm(type, 1);
    if (is_negative(plus_constant(negated(form), -1))) return int_imm(type, 0);
    // What is less than one of the others' units decides nothing: x*4 + l < 1000, l in 0..4, is x < 250.
    while (const auto split = split_multiples(form, 0)) form = split->multiples;
  } else {
    if (form.is_constant()) return int_imm(type, (form.constant == 0) == (op == BinOp::kEq));
    if (!divides || is_negative(form) || is_negative(negated(form))) return int_imm(type, op == BinOp::kNe);
    if (interval(form) == Interval::point(0)) return int_imm(type, op == BinOp::kEq);
  }
  return build_comparison(ordered ? BinOp::kLt : op, form, a.type().lanes);
}

// form < 0 (== 0, != 0) as left < right: positive terms left, negative ones right, the constant where it is positive.
// For vectors all that is the same in each lane stands on the other side of the lanes: ramp(0, 1, 8) < broadcast(70 -
// io*8).
Expr Simplifier::build_comparison(BinOp op, const Linear& form, int lanes) {
  Linear left, right;
  const int vector = lanes_of(form);
  bool lanes_left = false, lanes_right = false;
  for (const Term& t : form.terms) {
    if (!t.atom.type().is_scalar()) (t.factor > 0 ? lanes_left : lanes_right) = true;
  }
  const bool apart = lanes_left != lanes_right;
  if (op != BinOp::kLt && apart && lanes_right) return build_comparison(op, negated(form), lanes);
  if (op != BinOp::kLt && !apart && form.terms[0].factor < 0) return build_comparison(op, negated(form), lanes);
  for (const Term& t : form.terms) {
    const bool to_left = apart ? t.atom.type().is_scalar() == lanes_right : t.factor > 0;
    (to_left ? left : right).add(t.atom, to_left ? t.factor : -t.factor);
  }
  const bool constant_left = apart                 ? lanes_right
                             : right.terms.empty() ? false
                                                   : left.terms.empty() || form.constant > 0;
  (constant_left ? left : right).constant = constant_left ? form.constant : -form.constant;
  const Expr e = binary(op, built(left, vector), built(right, vector));
  return vector == lanes ? e : broadcast(e, lanes);
}

}  // namespace tw::ir
