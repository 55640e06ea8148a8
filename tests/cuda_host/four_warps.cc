#include "tests/cuda_host/four_warps.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_host/warp_product.h"

namespace tw::testing {

namespace {

// Bits 4 to 6 of an address exchange with those three places up, as many as a line has.
uintptr_t swizzled(uintptr_t address, int line) {
  const uintptr_t mask = line == 128 ? 0x70 : line == 64 ? 0x30 : 0x10;
  return address ^ (address >> 3 & mask);
}

double element(const FourProduct& p, const void* operand, int lies, int apart, int across, int term) {
  const int line = std::abs(lies), bytes = p.type == 3 ? 4 : p.type == 2 ? 1 : 2;
  const int column = (lies > 0 ? term : across) * bytes;
  const int row = lies > 0 ? across : term + column / line * apart;
  const auto* at = reinterpret_cast<const void*>(
      swizzled(reinterpret_cast<uintptr_t>(operand) + static_cast<uintptr_t>(row * line + column % line), line));
  if (bytes == 1) return *static_cast<const int8_t*>(at);
  if (bytes == 4) {  // the device leaves out what lies below
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return std::bit_cast<float>(bits & 0xffffe000);
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return half_value(bits, p.type == 0);
}

}  // namespace

void multiply(const FourProduct& p, const std::vector<void*>& c) {
  const int terms = p.type == 3 ? 8 : p.type == 2 ? 32 : 16;
  std::vector<double> a(size_t{64} * static_cast<size_t>(terms)), b(static_cast<size_t>(p.n * terms));
  for (int k = 0; k < terms; ++k) {
    for (int i = 0; i < 64; ++i) a[static_cast<size_t>(i * terms + k)] = element(p, p.a, p.a_lies, p.a_apart, i, k);
    for (int j = 0; j < p.n; ++j) b[static_cast<size_t>(j * terms + k)] = element(p, p.b, p.b_lies, p.b_apart, j, k);
  }
  for (int thread = 0; thread < static_cast<int>(kFour); ++thread)
    for (int e = 0; e < p.n / 2; ++e) {
      const int row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (e % 4 / 2),
                column = 8 * (e / 4) + 2 * (thread % 4) + e % 2;
      void* const to = c[static_cast<size_t>(thread)];
      double sum = p.type == 2 ? static_cast<int32_t*>(to)[e] : static_cast<double>(static_cast<float*>(to)[e]);
      for (int k = 0; k < terms; ++k)
        sum += a[static_cast<size_t>(row * terms + k)] * b[static_cast<size_t>(column * terms + k)];
      if (p.type == 2) {
        static_cast<int32_t*>(to)[e] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
      } else {
        static_cast<float*>(to)[e] = static_cast<float>(sum);
      }
    }
}

}  // namespace tw::testing
