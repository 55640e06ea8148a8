// Where the system's C compiler is, for the target "c".
#pragma once

#include <string>
#include <vector>

namespace tw::target {

// The program, with its path, and the arguments that $CC has for it; empty when there is none. $CC if it is set, else
// the first of cc, gcc and clang on the PATH, and for another architecture than this machine's the cross compiler as
// Debian names it: aarch64-linux-gnu-gcc.
std::vector<std::string> c_compiler(const std::string& triple = "");

}  // namespace tw::target
