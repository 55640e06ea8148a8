// What a kernel is given and leaves behind: one block of bytes per array.
#pragma once

#include <cstddef>
#include <vector>

namespace tw::diff {

using Memory = std::vector<std::vector<std::byte>>;

}  // namespace tw::diff
