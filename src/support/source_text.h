// Reads single lines of source files, for error messages.
#pragma once

#include <string>

namespace tw::support {

// Line `line` (from 1) of `file` without surrounding blanks; empty when it cannot be read.
std::string read_line(const std::string& file, int line);

}  // namespace tw::support
