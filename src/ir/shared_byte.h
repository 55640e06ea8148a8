// Whether iterations of a parallel loop may store to one byte: 4-bit integers are stored two to a byte, and a store
// changes half of it.
//
//   for i in 0..8 parallel:                         for i in 0..8 parallel:
//     for j in 0..6: C[i, j] = ..    never            for j in 0..7: C[i, j] = ..    C[0, 6] and C[1, 0] share one
#pragma once

#include <optional>

#include "tensorwright/ir.h"

namespace tw::ir {

// Stores to `buffer`, allocated outside of the loop over `loop`, for which whole bytes could not be proved; `at` is the
// element that one writes, counted from the first of the buffer.
struct SharedByte {
  Buffer buffer;
  Var loop;
  Expr at;
};

// Of a program whose loops are not lowered yet.
std::optional<SharedByte> shared_byte(const Program&);

// Proved to be even for all values of its variables.
bool is_even(const Expr& index);

}  // namespace tw::ir
