// Which kernel of an object is meant, by the symbols that the object defines.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/error.h"

namespace tw::runtime {

// The one that is wanted, or the only one; those that pack for another count as part of it. kBuild: `object`, which the
// message begins with, has none, several or another one, and `how_to_say` tells how to name one.
Result<std::string> choose_kernel(const std::vector<std::string>& symbols, const std::string& wanted,
                                  const std::string& object, const std::string& how_to_say);

}  // namespace tw::runtime
