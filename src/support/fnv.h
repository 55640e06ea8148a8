// FNV-1a, 64 bits: what texts are told apart by in files that every later release must read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw::support {

constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

std::string hex(uint64_t);  // 16 digits

inline std::string fnv1a_hex(std::string_view text) { return hex(fnv1a(text)); }

}  // namespace tw::support
