// Products of a warp, for the shim: where each lane's elements stand, as PTX has it in its text for each instruction,
// and independently of the compiler's table.
#pragma once

#include <array>
#include <cstdint>

namespace tw::testing {

// By the numbers that cuda_shim.h gives them; loads have numbers of their own behind these.
enum class WarpProductKind : unsigned { kBF16, kF16, kS8, kTF32, kLoad2, kLoad2Trans, kLoad4, kLoad4Trans, kShuffle };

double half_value(uint16_t bits, bool is_bfloat);

struct LaneFragments {
  void* c;
  const void *a, *b;
};

// Of an exchange, at `b`: whose element at `a` a lane gets to `c`.
struct LaneNamed {
  int lane;
  unsigned bytes;
};

// Of the 32 lanes that came to it: c = c + a * b; or a load of matrices, whose rows are at `a`, to `c`; or an exchange.
void multiply(WarpProductKind, const std::array<LaneFragments, 32>& lanes);

}  // namespace tw::testing
