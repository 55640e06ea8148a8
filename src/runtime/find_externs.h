// The C functions that a kernel calls, in this process.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/error.h"

namespace tw::runtime {

// What tw_context.externs points to, by the symbols of a kernel's descriptor; kBuild where one is not known.
using Externs = std::vector<void (*)()>;
Result<Externs> find_externs(const std::string& kernel, const std::vector<std::string>& symbols);

}  // namespace tw::runtime
