// Structural equality.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

// Same structure, types and constants (NaN equals NaN, +0 differs from -0); free variables and buffers by id, bound
// ones up to renaming.
bool equal(const Expr&, const Expr&);
bool equal(const Stmt&, const Stmt&);
// Parameters and everything else up to renaming of ids; names of the parameters and of the program must agree.
bool equal(const Program&, const Program&);

struct ExprEqual {
  bool operator()(const Expr& a, const Expr& b) const { return equal(a, b); }
};
struct ExprHash {
  size_t operator()(const Expr& e) const { return e.hash(); }
};

}  // namespace tw::ir
