// What a program requires of its sizes, so that no read is outside of its array: statements before all others, each of
// which ends the kernel with TW_ERROR_SIZES where its condition is false.
//
//   call(int32, "requires n <= m: compute C reads A[i]", n <= m)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::ir {

struct Requirement {
  Expr test;         // of scalars
  std::string text;  // for people: the condition, and which read needs it
};
Requirement requirement(const Expr& test, const std::string& reader);

Stmt as_statement(const Requirement&);
bool is_requirement(std::string_view symbol);  // of a CallExtern
std::optional<Requirement> requirement_in(const Expr& call);
std::vector<Requirement> requirements_of(const Program&);

// `first`, then the body, but for the requirements that the body begins with: nothing is touched before these.
Stmt behind_requirements(Stmt first, const Stmt& body);

// The condition, of scalars that are no larger than an extent: no sum in it overflows.
Expr checked_test(const Requirement&);

}  // namespace tw::ir
