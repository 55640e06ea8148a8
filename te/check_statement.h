// The statement of an extern stage stays inside its tensors, as the body of a compute does (check_body.h): reads that
// may lie outside are clamped, stores that may are left out.
//
//   x[p[i]] = y[i * i]   ==>   if 0 <= p[i] and p[i] < n: x[p[i]] = y[min(i * i, m - 1)]
#pragma once

#include <string>
#include <vector>

#include "te/read_notes.h"

namespace tw::te {

// Below these loops, where these conditions hold or do not. `extents`: sizes that are not negative.
struct StatementPlace {
  std::vector<IterVar> axes;
  std::vector<std::pair<Expr, bool>> conditions;
  std::vector<Var> extents;
};

// Throws ExprError where an element outside is touched for all sizes. `alone` is the statement as a program of its own.
ir::Stmt clamp_statement(const std::string& what, const ir::Program& alone, const SourceLine& where, ReadNotes& notes);

// What it is made of, in out_of_bounds.cc. The condition under which a store is inside, empty: always; index arithmetic
// that may overflow wraps then.
Expr clamped_at(const std::string& what, const StatementPlace&, const Expr&, const SourceLine& where, ReadNotes&);
Expr guard_at(const std::string& what, const StatementPlace&, const Buffer&, std::vector<Expr>& at,
              const SourceLine& where, ReadNotes&);

}  // namespace tw::te
