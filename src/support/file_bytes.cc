#include "src/support/file_bytes.h"

#include <array>
#include <fstream>

namespace tw::support {

std::optional<std::string> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes;
  std::array<char, 1 << 16> part;
  while (in.read(part.data(), part.size()), in.gcount() > 0)
    bytes.append(part.data(), static_cast<size_t>(in.gcount()));
  if (in.bad()) return std::nullopt;
  return bytes;
}

}  // namespace tw::support
