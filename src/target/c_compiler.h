// Where the system's C compiler is, for the target "c".
#pragma once

#include <string>
#include <vector>

namespace tw::target {

// The program, with its path, and the arguments that the environment has for it; empty when there is none. $CC if it is
// set, else the first of cc, gcc and clang on the PATH. For another architecture than this machine's
// $CC_aarch64_linux_gnu comes first, and what is looked for is the cross compiler as Debian names it:
// aarch64-linux-gnu-gcc.
std::vector<std::string> c_compiler(const std::string& triple = "");

// What a person is told who has none: the variable that names one for this triple alone, and what is looked for.
std::string c_compiler_variable(const std::string& triple);
std::string c_compiler_wanted(const std::string& triple);

}  // namespace tw::target
