// Subscripts of vectors whose lanes lie at known distances from each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

// A power of two that divides every value of an index expression.
int64_t multiple_of(const ir::Expr&);

// Lane l is at base + apart[l]; the least of these is 0.
//
//   x + ramp(0, 1, 8) // 4          base x, apart 0 0 0 0 1 1 1 1
//   ramp(8 * x + 4, 1, 8) // 4      base 2 * x + 1, the same
struct LanePlaces {
  ir::Expr base;
  std::vector<int64_t> apart;
  int64_t span() const;  // elements from the first place to the last, both included
};

// None where a distance depends on a variable.
std::optional<LanePlaces> lane_places(const ir::Expr& subscript);

// Of a subscript with ramp(begin, 1, lanes) // elements or % elements, what it is where a digit holds the whole vector:
// a ramp of step 1, or one place for all. None where it is neither, or no digit of so many elements holds any.
//
//   ramp(i, 1, 16) % 1000 + j * 1000      ramp(i % 1000 + j * 1000, 1, 16)      where i % 1000 <= 984
struct WithinDigit {
  ir::Expr begin;
  int64_t elements;
  ir::Expr subscript;
};
std::optional<WithinDigit> within_digit(const ir::Expr& subscript);

}  // namespace tw::codegen
