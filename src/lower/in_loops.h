// What stands below a statement, with what stands around it there.
#pragma once

#include <functional>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::lower {

struct Around {
  std::vector<const ir::For*> loops;  // outermost first
  int conditions = 0;                 // those of Ifs
};

// Calls `statement` with each statement, before what it holds, and `expression` with each expression that one
// evaluates, whole. What is below a statement for which `statement` is false is left out.
void walk_in_loops(const ir::Stmt&, const std::function<bool(const ir::Stmt&, const Around&)>& statement,
                   const std::function<void(const ir::Expr&, const Around&)>& expression);

}  // namespace tw::lower
