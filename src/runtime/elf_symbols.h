// The names that a shared object defines.
#pragma once

#include <string>
#include <vector>

namespace tw::runtime {

// Names in the dynamic symbol table of a 64-bit ELF file, read from the file without loading it; empty for a file of
// another kind. Every offset is checked: the file may be anything.
std::vector<std::string> defined_symbols(const std::string& path);

}  // namespace tw::runtime
