#include "src/runtime/zones.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "src/runtime/shares.h"

namespace tw::runtime {
namespace {

constexpr size_t kShare = size_t{1} << 20;  // bytes that a thread takes at a time

unsigned char pattern(size_t offset) { return static_cast<unsigned char>(0xA1 ^ (offset * 37)); }

// Four chains, as one alone waits for its multiplications; without an array, which would not stay in registers. A
// product leaves a flipped top bit where it was, so that the next word's would cancel it: the shift brings it to a
// place that is no number's sign.
uint64_t digest_of_share(const unsigned char* data, size_t count) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t a = 1, b = 2, c = 3, d = 4, rest = 0;
  const auto add = [&](uint64_t& chain, size_t at) {
    uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    chain = (chain ^ word) * kOdd;
    chain ^= chain >> 29;
  };
  size_t at = 0;
  for (; at + 32 <= count; at += 32) {
    add(a, at);
    add(b, at + 8);
    add(c, at + 16);
    add(d, at + 24);
  }
  for (; at < count; ++at) rest = (rest ^ data[at]) * kOdd;
  for (const uint64_t chain : {a, b, c, d}) rest = (rest ^ chain) * kOdd;
  return rest;
}

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

uint64_t digest_of(const void* bytes, size_t count) {
  const auto* data = static_cast<const unsigned char*>(bytes);
  std::vector<uint64_t> digests(std::max<size_t>(1, (count + kShare - 1) / kShare));
  over_shares(digests.size(), [&](size_t share) {
    digests[share] = digest_of_share(data + share * kShare, std::min(count - share * kShare, kShare));
  });
  return digests.size() == 1 ? digests[0]
                             : digest_of_share(reinterpret_cast<const unsigned char*>(digests.data()),
                                               digests.size() * sizeof(uint64_t));
}

}  // namespace tw::runtime
