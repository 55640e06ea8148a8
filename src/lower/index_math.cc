// Folding constructors for index arithmetic and predicates.

#include "src/lower/index_math.h"

#include <algorithm>

#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

Expr same_lanes(BinOp op, const Expr& a, const Expr& b) {
  const int lanes = std::max(a.type().lanes, b.type().lanes);
  return binary(op, with_lanes(a, lanes), with_lanes(b, lanes));
}

void collect(const Expr& condition, std::vector<Expr>& out) {
  const auto* chain = as<Binary>(condition);
  if (!chain || chain->op != BinOp::kAnd) {
    out.push_back(condition);
    return;
  }
  collect(chain->a, out);
  collect(chain->b, out);
}

}  // namespace

Expr with_lanes(const Expr& e, int lanes) { return e.type().lanes == lanes ? e : broadcast(e, lanes); }

Expr add(const Expr& a, const Expr& b) {
  if (is_int(a, 0) && b.type().lanes >= a.type().lanes) return b;
  if (is_int(b, 0) && a.type().lanes >= b.type().lanes) return a;
  if (a.type().is_scalar() && b.type().is_scalar() && as_int(a) && as_int(b)) return *as_int(a) + *as_int(b);
  if (const auto* r = as<Ramp>(a); r && b.type().is_scalar()) return ramp(add(r->base, b), r->stride, r->lanes);
  if (const auto* r = as<Ramp>(b); r && a.type().is_scalar()) return ramp(add(a, r->base), r->stride, r->lanes);
  return same_lanes(BinOp::kAdd, a, b);
}

Expr subtract(const Expr& a, const Expr& b) {
  if (is_int(b, 0) && a.type().lanes >= b.type().lanes) return a;
  if (a.type().is_scalar() && b.type().is_scalar() && as_int(a) && as_int(b)) return *as_int(a) - *as_int(b);
  if (const auto* r = as<Ramp>(a); r && b.type().is_scalar()) return ramp(subtract(r->base, b), r->stride, r->lanes);
  return same_lanes(BinOp::kSub, a, b);
}

Expr multiply(const Expr& a, const Expr& b) {
  if (is_int(a, 1) && b.type().lanes >= a.type().lanes) return b;
  if (is_int(b, 1) && a.type().lanes >= b.type().lanes) return a;
  if (a.type().is_scalar() && b.type().is_scalar() && as_int(a) && as_int(b)) return *as_int(a) * *as_int(b);
  if (const auto* r = as<Ramp>(a); r && b.type().is_scalar())
    return ramp(multiply(r->base, b), multiply(r->stride, b), r->lanes);
  if (const auto* r = as<Ramp>(b); r && a.type().is_scalar())
    return ramp(multiply(a, r->base), multiply(a, r->stride), r->lanes);
  return same_lanes(BinOp::kMul, a, b);
}

Expr both(const Expr& a, const Expr& b) {
  if (!a || a.same_as(b)) return b;
  if (!b) return a;
  return same_lanes(BinOp::kAnd, a, b);
}

std::vector<Expr> conjuncts(const Expr& condition) {
  std::vector<Expr> out;
  collect(condition, out);
  return out;
}

bool uses_any(const Expr& e, const Bounds& vars) {
  return std::ranges::any_of(used_vars(e), [&](uint64_t id) { return vars.contains(id); });
}

Expr conjunction(const std::vector<Expr>& parts) {
  Expr all;
  for (const Expr& part : parts) all = both(all, part);
  return all;
}

}  // namespace tw::lower
