// Last axes that are shorter than a vector: channels of a pixel, parts of a complex number, the digit x % 2.
#pragma once

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

// Lanes then run along another loop:
//
//   B[x, c] = f(A[x + 1, c])       ==>   for x*c.o: vectorized x*c.i                       fused
//   B[x, c] = f(A[x, 0], A[x, 1])  ==>   for x.o: for c unrolled: vectorized x.i           unrolled
//   B[x] = A[x % 2, x // 2]        ==>   for x.o.o: for x.i unrolled: vectorized x.o.i     unrolled
//
// Stores of what is unrolled are spread, but lie side by side: code generation makes whole ones of them.
struct ShortAxes {
  size_t next = 0;        // of the stage's axes, the one before them, or that of the digit
  int64_t elements = 1;   // of all of them
  bool digit = false;     // there is one axis, of which so many elements are unrolled
  bool unrolled = false;  // may be
  bool fused = false;     // may be
  bool in_place = false;  // what is read then lies as what is written does, or is the same for all along `next`
  bool cycles = false;    // something does not: vectors begin where the short axes do
};

// `lanes`: of a vector of what the stage computes. Nothing where the last axis serves, or all other ways read some
// lanes one by one.
std::optional<ShortAxes> short_axes(const Graph&, const Stage&, int64_t lanes);

// Whether vectors along the axis are loads of whole ones, of elements that lie at most a few apart.
bool is_read_in_vectors(const Graph&, const Access&, const Axis&);
// The numbers by which reads divide the axis itself, where the least of them divides the others; else 1.
int64_t least_divisor(const Stage&, const Axis&);

}  // namespace tw::autotune::sketch
