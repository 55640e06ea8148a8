// Systems of inequalities over whole numbers, each a polynomial that is at least 0, and what is left of one when
// variables are eliminated (Fourier and Motzkin, with polynomials as coefficients where their sign is known).
//
//   eliminating i of  { i >= 0, n - 1 - i >= 0, i - m >= 0 }  leaves  { n - 1 >= 0, n - 1 - m >= 0 }
#pragma once

#include <optional>
#include <vector>

#include "te/polynomial.h"

namespace tw::te {

struct Unknown {
  bool size = false;          // stays; the others are eliminated
  bool not_negative = false;  // what is known of it
};
using Unknowns = std::vector<Unknown>;  // by the variable's number

class Inequalities {
 public:
  void add(const Polynomial& at_least_0);
  void add_equal(const Polynomial& a, const Polynomial& b) { add(a - b), add(b - a); }
  void add_zero(const Polynomial&);  // that it is 0; products with it vanish, where it is a product itself

  bool contradictory() const { return contradictory_; }
  // Whole numbers that satisfy what is left are all of those that can be completed to a solution: nothing was dropped.
  bool exact() const { return exact_; }
  void set_inexact() { exact_ = false; }
  std::vector<Polynomial> all() const;

  // Without the variables that are no sizes. A contradiction is found surely only where the system is linear.
  Inequalities projected(const Unknowns&) const;
  // Whether no whole numbers satisfy it, as far as elimination of everything finds out.
  bool impossible(const Unknowns&) const;

 private:
  void eliminate(int v, const Unknowns&);
  int next_to_eliminate(const Unknowns&, bool sizes) const;

  Polynomial without_zeros(const Polynomial&) const;

  std::vector<Monomial> zeros_;
  std::map<Terms, int64_t> constants_;  // of each sum of terms the smallest constant: the strongest inequality
  bool contradictory_ = false, exact_ = true;
};

}  // namespace tw::te
