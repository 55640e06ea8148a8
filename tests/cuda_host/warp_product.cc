#include "tests/cuda_host/warp_product.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tw::testing {

namespace {

float of_bits(uint32_t bits) {
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}

double of_half(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double sign = h >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

double of_tf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return std::isfinite(x) ? of_bits((bits + 0x1000) & 0xffffe000) : x;
}

double element(WarpProductKind kind, const void* fragment, int i) {
  switch (kind) {
    case WarpProductKind::kBF16:
      return of_bits(static_cast<uint32_t>(static_cast<const uint16_t*>(fragment)[i]) << 16);
    case WarpProductKind::kF16:
      return of_half(static_cast<const uint16_t*>(fragment)[i]);
    case WarpProductKind::kS8:
      return static_cast<const int8_t*>(fragment)[i];
    default:
      break;
  }
  return of_tf32(static_cast<const float*>(fragment)[i]);
}

struct Place {
  int row, column;
};

// "row = groupID for ai where ..., groupID + 8 otherwise; col = (threadID_in_group * 2) + (i & 0x1) ..."
Place place_of_a(WarpProductKind kind, int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  if (kind == WarpProductKind::kS8)
    return {(i < 4) || (i >= 8 && i < 12) ? group : group + 8, in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  if (kind == WarpProductKind::kTF32) return {i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4};
  return {(i < 2) || (i >= 4 && i < 6) ? group : group + 8, in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}

Place place_of_b(WarpProductKind kind, int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  if (kind == WarpProductKind::kS8) return {in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
  if (kind == WarpProductKind::kTF32) return {i == 0 ? in_group : in_group + 4, group};
  return {in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
}

Place place_of_c(int lane, int i) { return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

}  // namespace

namespace {

// "Thread 4 * i + j gets word j of row i", of 8 rows of four words; transposed, halves 2 * j and 2 * j + 1 of column i.
void load(int matrices, bool transposed, const std::array<LaneFragments, 32>& lanes) {
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < matrices; ++m) {
      unsigned char word[4];
      const auto row = [&](int r) {
        return static_cast<const unsigned char*>(lanes[static_cast<size_t>(8 * m + r)].a);
      };
      if (!transposed) std::memcpy(word, row(lane / 4) + 4 * (lane % 4), 4);
      for (int half = 0; transposed && half < 2; ++half)
        std::memcpy(word + 2 * half, row(2 * (lane % 4) + half) + 2 * (lane / 4), 2);
      std::memcpy(static_cast<unsigned char*>(lanes[static_cast<size_t>(lane)].c) + 4 * m, word, 4);
    }
}

// "Each lane retrieves the value held by the lane whose ID is given", which is one of 32.
void shuffle(const std::array<LaneFragments, 32>& lanes) {
  std::array<std::array<unsigned char, 8>, 32> held;
  const auto named = [&](size_t lane) { return *static_cast<const LaneNamed*>(lanes[lane].b); };
  for (size_t lane = 0; lane < 32; ++lane) std::memcpy(held[lane].data(), lanes[lane].a, named(lane).bytes);
  for (size_t lane = 0; lane < 32; ++lane)
    std::memcpy(lanes[lane].c, held[static_cast<size_t>(named(lane).lane & 31)].data(), named(lane).bytes);
}

}  // namespace

double half_value(uint16_t bits, bool is_bfloat) {
  return is_bfloat ? of_bits(static_cast<uint32_t>(bits) << 16) : of_half(bits);
}

// Integers are exact in a double; what wraps of their sum is left to the end.
void multiply(WarpProductKind kind, const std::array<LaneFragments, 32>& lanes) {
  if (kind == WarpProductKind::kShuffle) return shuffle(lanes);
  if (kind >= WarpProductKind::kLoad2) {
    const unsigned which = static_cast<unsigned>(kind) - static_cast<unsigned>(WarpProductKind::kLoad2);
    return load(which < 2 ? 2 : 4, which % 2 == 1, lanes);
  }
  const int k = kind == WarpProductKind::kS8 ? 32 : kind == WarpProductKind::kTF32 ? 8 : 16;
  std::vector<double> a(static_cast<size_t>(16 * k)), b(static_cast<size_t>(k * 8));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 16 * k / 32; ++i) {
      const Place at = place_of_a(kind, lane, i);
      a[static_cast<size_t>(at.row * k + at.column)] = element(kind, lanes[static_cast<size_t>(lane)].a, i);
    }
    for (int i = 0; i < k * 8 / 32; ++i) {
      const Place at = place_of_b(kind, lane, i);
      b[static_cast<size_t>(at.row * 8 + at.column)] = element(kind, lanes[static_cast<size_t>(lane)].b, i);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place at = place_of_c(lane, i);
      void* const c = lanes[static_cast<size_t>(lane)].c;
      const bool whole = kind == WarpProductKind::kS8;
      double sum = whole ? static_cast<int32_t*>(c)[i] : static_cast<double>(static_cast<float*>(c)[i]);
      for (int n = 0; n < k; ++n)
        sum += a[static_cast<size_t>(at.row * k + n)] * b[static_cast<size_t>(n * 8 + at.column)];
      if (whole) {
        static_cast<int32_t*>(c)[i] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
      } else {
        static_cast<float*>(c)[i] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace tw::testing
