// A sample as a Python script that replays it, and as the line at its end from which --replay makes it again.
#pragma once

#include <string>

#include "tests/diff/oracles.h"

namespace tw::diff {

// What is declared before the tensors: symbolic extents and scalar arguments.
std::vector<ir::Var> variables(const Sample&);

std::string python_script(const Sample&, const Finding&);

// The path of folder/seed-N.py; the folder is made.
std::string write_script(const std::string& folder, uint64_t seed, const std::string& script);

// The sample of a script. A Diagnostic where there is no recipe in it, or where the recipe now gives another expression
// than the one in the script: then only Python replays it.
Result<Sample> read_script(const std::string& path);

}  // namespace tw::diff
