// Linear forms of index expressions: factor * atom + ... + constant, over integers that do not overflow.
//
// An atom is whatever is not itself a sum or a multiple: a variable, a quotient, a minimum, a cast. Vectors fit in: the
// atom Ramp(0, s, L) carries the lanes, scalar atoms stand for their broadcasts. Atoms are simplified and stand in one
// fixed order, so two sums that are equal as polynomials have equal forms, and equal trees when they are built again.
#pragma once

#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

struct Term {
  Expr atom;
  int64_t factor;
};

struct Linear {
  std::vector<Term> terms;  // once normalised: in the order of compare_atoms, no atom twice, no factor 0
  int64_t constant = 0;
  bool overflow = false;  // a number left 64 bits: the form means nothing and the expression stays as it is

  static Linear point(int64_t v) { return {{}, v, false}; }
  bool is_constant() const { return terms.empty() && !overflow; }
  bool is_atom() const { return terms.size() == 1 && terms[0].factor == 1 && constant == 0 && !overflow; }

  void add(Expr atom, int64_t factor);
  void add_constant(int64_t value, int64_t scale = 1);
  void add(const Linear& other, int64_t scale = 1);
  void normalise();
};
Linear operator-(const Linear& a, const Linear& b);
Linear operator+(const Linear& a, const Linear& b);

// A total order on expressions that does not depend on addresses: by the first variable's id, then by structure.
int compare_atoms(const Expr& a, const Expr& b);

// equal() for the common case, a small tree with equal hashes, without its bookkeeping.
bool identical(const Expr& a, const Expr& b);

// Takes a simplified expression apart, adding scale times it to `out`; the inverse of build.
void decompose(const Expr& simplified, int64_t scale, Linear& out);
Linear decompose(const Expr& simplified);

// The canonical tree: terms with positive factors, then negative ones, the constant last (or first, where nothing else
// is positive). With lanes > 1: Ramp or Broadcast where the form is one, else a sum with the scalar part in front.
Expr build(const Linear& form, int lanes);

}  // namespace tw::ir
