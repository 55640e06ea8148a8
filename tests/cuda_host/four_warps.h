// Products of four warps, for the shim, as PTX has them in its text and independently of the compiler's tables.
#pragma once

#include <cstddef>
#include <vector>

namespace tw::testing {

inline constexpr size_t kFour = 128;  // threads

struct FourProduct {
  unsigned type;  // 0: bfloat16, 1: float16, 2: int8, 3: float32 of 11 bits
  int n;
  void* c;
  const void *a, *b;
  int a_lies, b_lies;    // bytes of a line; less than 0: its lines are steps of the terms
  int a_apart, b_apart;  // lines, from one of a step to its next
  bool is_of(const FourProduct& other) const {
    return type == other.type && n == other.n && a == other.a && b == other.b && a_lies == other.a_lies &&
           b_lies == other.b_lies && a_apart == other.a_apart && b_apart == other.b_apart;
  }
};

// c = c + a * b, of 64 x n; each thread has a part of c.
void multiply(const FourProduct&, const std::vector<void*>& c);

}  // namespace tw::testing
