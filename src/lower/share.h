// Names the subexpressions that one expression holds on many paths.
//
//   y = f(x, x);  z = f(y, y);  store g(z, z)   ==>   store (let y = f(x, x), z = f(y, y) in g(z, z))
//
// Expressions are graphs: a chain of 40 values that are each used twice is 40 nodes and 2^40 terms. Code generation
// keeps a value once only where both uses stand under the same conditions.
//
// Requires: nothing. Establishes: of the value of a store with more than kMostTerms terms, what is used twice is
// named, as long as it reads only what the value reads in any case, and calls nothing. Leaves alone: shorter values.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program share(const ir::Program&, const Target&);

}  // namespace tw::lower
