// The system's C compiler: $CC, or cc, gcc or clang on the PATH.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorwright/error.h"
#include "tensorwright/target.h"

namespace tw::codegen {

enum class COutput { kObject, kShared };

// Compiles the text of c_source. Nothing is contracted, reassociated or left to a library: what cannot be linked
// without one is an error. `more` comes after our own flags. Errors are kBuild and quote the compiler.
Status compile_c(const std::string& source, const Target& target, int opt_level, COutput output,
                 const std::string& path, const std::vector<std::string>& more = {});

// A shared object in this process; it has no file any more. The handle is that of dlopen and closes itself.
Result<std::shared_ptr<void>> load_c(const std::string& source, const Target& target, int opt_level,
                                     const std::vector<std::string>& more = {});

}  // namespace tw::codegen
