// What is known about the values of a tensor before anybody computes them: how large they are, on which grid they lie,
// and how far a legal schedule may move them. Sums of small multiples of a power of two round nowhere, so most
// floating-point samples are compared bit for bit as integers are; the others within a bound that follows from their
// expression.
#pragma once

#include "tensorwright/ir.h"

namespace tw::diff {

struct Facts {
  double bound = 3;  // of the absolute values
  double grid = 1;   // each value is a multiple of it; 0: of nothing in particular
  double error = 0;  // how far two legal schedules may be apart
  bool exact() const { return error == 0; }
};

// What storing the value in a type leaves of it: integers wrap, floats round where the grid is too fine.
Facts settle(Facts, ir::Type);

Facts add(const Facts&, const Facts&);
Facts mul(const Facts&, const Facts&);
Facts join(const Facts&, const Facts&);  // one or the other, or the larger, or the smaller
Facts sum_of(const Facts&, int64_t terms, ir::Type);
Facts prod_of(const Facts&, int64_t terms, ir::Type);
// A function with this slope at most, computed to a few units in the last place.
Facts function_of(const Facts&, double slope, double bound, ir::Type);

bool fits(const Facts&, ir::Type);  // far from overflow; integers may wrap
double unit(ir::Type);              // half the distance from 1 to the next value of a float type

}  // namespace tw::diff
