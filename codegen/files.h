// What modules of all targets say about programs, files and machines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/error.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// One below the other, as to_string shows them.
std::string texts_of(const std::vector<ir::Program>& programs);

void write_file(const std::string& path, std::string_view bytes);  // throws tw::Error

// That this machine cannot run code for the target, and why.
Diagnostic cannot_run(const Target& target);

}  // namespace tw::codegen
