// What shows writes that went astray: the pattern of the zones around an argument's memory, and digests of what must
// stay as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tw::runtime {

using Zone = std::span<unsigned char>;

// The pattern differs from byte to byte, and from the poison.
void mark_zone(Zone);
// "3 bytes before its first" or "1 bytes after its last", of what was marked; "" where all of both is as it was.
std::string damage_of_zones(std::span<const unsigned char> before, std::span<const unsigned char> after);

// Depends on each byte and on its place.
uint64_t digest_of(const void* bytes, size_t count);

}  // namespace tw::runtime
