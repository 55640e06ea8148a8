#include "tests/diff/facts.h"

#include <algorithm>
#include <cmath>

namespace tw::diff {

namespace {

bool is_real(ir::Type type) { return type.is_float() || type.is_float8(); }

int precision(ir::Type type) {
  if (type.is_float8()) return type == ir::Type::e4m3() ? 4 : 3;
  if (type.code == ir::TypeCode::kBFloat) return 8;
  return type.bits == 16 ? 11 : type.bits == 32 ? 24 : 53;
}

double largest(ir::Type type) {
  if (type.is_bool()) return 1;
  if (type.is_float8()) return type == ir::Type::e4m3() ? 400 : 5e4;
  if (type.is_float()) return type == ir::Type::f(16) ? 3e4 : type.bits <= 32 ? 1e30 : 1e200;
  return std::ldexp(1.0, type.is_uint() ? type.bits : type.bits - 1);
}

}  // namespace

double unit(ir::Type type) { return std::ldexp(1.0, -precision(type)); }

bool fits(const Facts& f, ir::Type type) { return !is_real(type) || f.bound + f.error < largest(type); }

Facts settle(Facts f, ir::Type type) {
  if (!is_real(type)) {
    // Below zero an unsigned type wraps, and nobody knows who is below zero.
    f.bound = type.is_uint() || f.bound > largest(type) ? largest(type) : f.bound;
    f.grid = 1;
    f.error = 0;
    return f;
  }
  if (f.exact() && f.grid > 0 && f.bound / f.grid <= 1 / unit(type)) return f;
  f.grid = 0;
  f.error += 4 * unit(type) * std::max(f.bound, 1e-6);
  return f;
}

Facts add(const Facts& a, const Facts& b) { return {a.bound + b.bound, std::min(a.grid, b.grid), a.error + b.error}; }

Facts mul(const Facts& a, const Facts& b) {
  return {a.bound * b.bound, a.grid * b.grid, a.bound * b.error + b.bound * a.error + a.error * b.error};
}

Facts join(const Facts& a, const Facts& b) {
  return {std::max(a.bound, b.bound), std::min(a.grid, b.grid), std::max(a.error, b.error)};
}

Facts sum_of(const Facts& f, int64_t terms, ir::Type type) {
  const double n = static_cast<double>(std::max<int64_t>(terms, 1));
  Facts total = settle({n * f.bound, f.grid, n * f.error}, type);
  if (type.is_float() && !total.exact()) total.error += 2 * n * unit(type) * total.bound;
  return total;
}

Facts prod_of(const Facts& f, int64_t terms, ir::Type type) {
  Facts total{1, 1, 0};
  for (int64_t i = 0; i < terms && fits(total, type); ++i) total = settle(mul(total, f), type);
  total.bound = std::max(total.bound, 1.0);
  return total;
}

Facts function_of(const Facts& f, double slope, double bound, ir::Type type) {
  return {bound, 0, slope * f.error + 16 * unit(type) * std::max(bound, 1.0)};
}

}  // namespace tw::diff
