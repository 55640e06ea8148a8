// Reads the text form of GRAMMAR.md: equal(parse(to_string(p)), p) for every program that verifies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

// A Diagnostic of kind kParse names line, column, what was expected and what came. Input of any size, depth and content
// ends in a program or a Diagnostic. The program is verified.
Result<Program> parse_program(std::string_view text);

// An expression over variables of these names.
Result<Expr> parse_expr(std::string_view text, const std::vector<std::string>& names, const std::vector<Var>& vars);

}  // namespace tw::ir
