// What modules of all targets say about programs, files and machines.
#pragma once

#include <functional>
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

// Calls `write` with the path of a new file, which then takes the place of the one at `path`: processes that have that
// one mapped, as a library that is loaded, keep it as it was.
void replace_file(const std::string& path, const std::function<void(const std::string&)>& write);  // throws tw::Error

// That this machine cannot run code for the target, and why.
Diagnostic cannot_run(const Target& target);

}  // namespace tw::codegen
