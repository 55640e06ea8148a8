// Reading files whole, as everybody here does it.
#pragma once

#include <optional>
#include <string>

namespace tw::support {

// All of a file; nothing where it cannot be read, as a folder cannot, for a reason that is in errno.
std::optional<std::string> file_bytes(const std::string& path);

}  // namespace tw::support
