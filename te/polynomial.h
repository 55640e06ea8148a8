// Polynomials over numbered variables, with whole coefficients: what subscripts and extents are made of.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tw::te {

using Monomial = std::vector<int>;  // the variables, in order, each as often as its power
using Terms = std::map<Monomial, int64_t>;

class Polynomial {
 public:
  Polynomial(int64_t constant = 0) : constant_(constant) {}
  static Polynomial variable(int v);

  const Terms& terms() const { return terms_; }  // without the constant; no factor is 0
  int64_t constant() const { return constant_; }
  bool overflow() const { return overflow_; }  // a number left 64 bits: it means nothing
  bool is_constant() const { return terms_.empty() && !overflow_; }
  bool is_affine() const;
  int degree(int v) const;                // the highest power of the variable
  Polynomial factor_of(int v) const;      // of a variable of degree 1: what it is multiplied with
  Polynomial divided_by_factors() const;  // by what the terms' factors have in common, the constant rounded down

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a);

 private:
  void add(const Monomial&, int64_t factor);

  Terms terms_;
  int64_t constant_ = 0;
  bool overflow_ = false;
};

}  // namespace tw::te
