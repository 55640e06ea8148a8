// float32 as tensor cores multiply it: with 11 bits.
#pragma once

#include <bit>
#include <cstdint>

namespace tw::ir {

// The nearest number of 11 bits, of two as near the one further from zero, as cvt.rna.tf32 has it: above the largest
// one infinity. A NaN stays as it is.
inline float to_tf32(float x) {
  constexpr uint32_t kHalf = 0x1000, kKept = 0xffffe000, kExponent = 0x7f800000;
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & kExponent) == kExponent ? x : std::bit_cast<float>((bits + kHalf) & kKept);
}

}  // namespace tw::ir
