// Products of a warp, for the shim: where each lane's elements stand, as PTX has it in its text for each instruction,
// and independently of the compiler's table.
#pragma once

#include <array>

namespace tw::testing {

enum class WarpProductKind : unsigned { kBF16, kF16, kS8, kTF32 };

struct LaneFragments {
  void* c;
  const void *a, *b;
};

// Of the 32 lanes that came to it: c = c + a * b.
void multiply(WarpProductKind, const std::array<LaneFragments, 32>& lanes);

}  // namespace tw::testing
