// Terms of a reduction that change nothing: they are left out, as those of `where=` are.
//
//   sum over k of (k <= i ? A[k] : 0)         ==>     sum over k of A[k], where k <= i
//   max over k of (k <= i ? A[k] : -inf)      ==>     max over k of A[k], where k <= i
//
// A condition says which, of indices alone, one of which the reduction runs along. A sum of floats that begins with a
// value of its own stays as it is: that may be -0.0, and -0.0 + 0.0 is 0.0; from 0.0 on no sum is -0.0.
#pragma once

#include <vector>

#include "src/lower/guard.h"
#include "tensorwright/ir.h"

namespace tw::schedule {

// The same reduction, or what else was given.
ir::Expr without_identities(const ir::Expr& body);

// Whether the result is the same where identities among its terms are left out.
bool can_leave_out(const ir::Reduce&);

// What of a condition says which terms a reduction has, by indices alone, and what does not.
struct Parted {
  std::vector<ir::Expr> of_terms, rest;
};
Parted parted(const ir::Reduce&, const ir::Expr& condition, lower::GuardReader&);

}  // namespace tw::schedule
