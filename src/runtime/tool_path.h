// Where the worker programs are.
#pragma once

#include <string>

namespace tw::runtime {

// The path in the environment variable, or the program of that name beside this library or, in an installation, in the
// folder tensorwright there. Throws tw::Error (kTune) when there is none.
std::string tool_path(const std::string& name, const char* variable);

}  // namespace tw::runtime
