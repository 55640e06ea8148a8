#include "src/runtime/zones.h"

#include <cstring>

namespace tw::runtime {
namespace {

unsigned char pattern(size_t offset) { return static_cast<unsigned char>(0xA1 ^ (offset * 37)); }

}  // namespace

void mark_zone(Zone zone) {
  for (size_t i = 0; i < zone.size(); ++i) zone[i] = pattern(i);
}

std::string damage_of_zones(std::span<const unsigned char> before, std::span<const unsigned char> after) {
  for (size_t i = before.size(); i-- > 0;)
    if (before[i] != pattern(i)) return std::to_string(before.size() - i) + " bytes before its first";
  for (size_t i = 0; i < after.size(); ++i)
    if (after[i] != pattern(i)) return std::to_string(i + 1) + " bytes after its last";
  return {};
}

// Four chains, as one alone waits for its multiplications.
uint64_t digest_of(const void* bytes, size_t count) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  const auto* data = static_cast<const unsigned char*>(bytes);
  uint64_t chains[4] = {1, 2, 3, 4}, rest = 0;
  size_t at = 0;
  for (uint64_t words[4]; at + sizeof words <= count; at += sizeof words) {
    std::memcpy(words, data + at, sizeof words);
    for (int c = 0; c < 4; ++c) chains[c] = (chains[c] ^ words[c]) * kOdd;
  }
  for (; at < count; ++at) rest = (rest ^ data[at]) * kOdd;
  for (const uint64_t chain : chains) rest = (rest ^ (chain >> 29) ^ chain) * kOdd;
  return rest;
}

}  // namespace tw::runtime
