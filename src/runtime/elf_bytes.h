// Values in the bytes of a file, which may be anything.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

namespace tw::runtime {

template <class T>  // nothing where they do not reach that far
std::optional<T> read_at(std::string_view file, size_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

}  // namespace tw::runtime
