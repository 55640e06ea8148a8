// What modules of all targets say about programs and files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

// One below the other, as to_string shows them.
std::string texts_of(const std::vector<ir::Program>& programs);

// What stood there is replaced at once or, where this throws (tw::Error), left as it was.
void write_file(const std::string& path, std::string_view bytes);

// Calls `write` with the path of a new file, which then takes the place of the one at `path`: processes that have that
// one mapped, as a library that is loaded, keep it as it was.
void replace_file(const std::string& path, const std::function<void(const std::string&)>& write);  // throws tw::Error

}  // namespace tw::codegen
