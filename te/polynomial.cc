#include "te/polynomial.h"

#include <algorithm>
#include <numeric>

#include "src/ir/interval_arith.h"

namespace tw::te {

Polynomial Polynomial::variable(int v) {
  Polynomial out;
  out.terms_[{v}] = 1;
  return out;
}

bool Polynomial::is_affine() const {
  return !overflow_ && std::all_of(terms_.begin(), terms_.end(), [](const auto& t) { return t.first.size() == 1; });
}

int Polynomial::degree(int v) const {
  int most = 0;
  for (const auto& [monomial, factor] : terms_)
    most = std::max(most, static_cast<int>(std::count(monomial.begin(), monomial.end(), v)));
  return most;
}

Polynomial Polynomial::factor_of(int v) const {
  Polynomial out;
  for (const auto& [monomial, factor] : terms_) {
    const auto at = std::find(monomial.begin(), monomial.end(), v);
    if (at == monomial.end()) continue;
    Monomial rest(monomial.begin(), at);
    rest.insert(rest.end(), at + 1, monomial.end());
    out.add(rest, factor);
  }
  return out;
}

Polynomial Polynomial::divided_by_factors() const {
  int64_t common = 0;
  for (const auto& [monomial, factor] : terms_) common = std::gcd(common, factor);
  if (common <= 1) return *this;
  Polynomial out = *this;
  for (auto& [monomial, factor] : out.terms_) factor /= common;
  out.constant_ = ir::floor_div(constant_, common);
  return out;
}

void Polynomial::add(const Monomial& monomial, int64_t factor) {
  if (monomial.empty()) {
    overflow_ |= __builtin_add_overflow(constant_, factor, &constant_);
    return;
  }
  int64_t& known = terms_[monomial];
  overflow_ |= __builtin_add_overflow(known, factor, &known);
  overflow_ |= known == INT64_MIN;
  if (known == 0) terms_.erase(monomial);
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial out = a;
  out.overflow_ |= b.overflow_;
  for (const auto& [monomial, factor] : b.terms_) out.add(monomial, factor);
  out.add({}, b.constant_);
  return out;
}

Polynomial operator-(const Polynomial& a) { return a * Polynomial(-1); }
Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + -b; }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  out.overflow_ = a.overflow_ || b.overflow_;
  const auto add_product = [&](const Monomial& x, int64_t fx, const Monomial& y, int64_t fy) {
    Monomial both;
    std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    int64_t factor;
    out.overflow_ |= __builtin_mul_overflow(fx, fy, &factor);
    if (!out.overflow_ && factor != 0) out.add(both, factor);
  };
  for (const auto& [x, fx] : a.terms_) {
    for (const auto& [y, fy] : b.terms_) add_product(x, fx, y, fy);
    add_product(x, fx, {}, b.constant_);
  }
  for (const auto& [y, fy] : b.terms_) add_product({}, a.constant_, y, fy);
  add_product({}, a.constant_, {}, b.constant_);
  return out;
}

}  // namespace tw::te
