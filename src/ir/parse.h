// Reads the text form of GRAMMAR.md: equal(parse(to_string(p)), p) for every program that verifies.
#pragma once

#include <string_view>

#include "tensorwright/ir.h"

namespace tw::ir {

// A Diagnostic of kind kParse names line, column, what was expected and what came. Input of any size, depth and content
// ends in a program or a Diagnostic. The program is verified.
Result<Program> parse_program(std::string_view text);

}  // namespace tw::ir
