// What modules of all targets say about files and machines.
#pragma once

#include <string>
#include <string_view>

#include "tensorwright/error.h"
#include "tensorwright/target.h"

namespace tw::codegen {

void write_file(const std::string& path, std::string_view bytes);  // throws tw::Error

// That this machine cannot run code for the target, and why.
Diagnostic cannot_run(const Target& target);

}  // namespace tw::codegen
