// Stages that write the elements of some tensors in another order: B[i, j] = f(A[j, i], ..).
#pragma once

#include <vector>

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

struct Transposed {
  size_t along = 0;  // of the stage's axes, that of the tensors' rows
  std::vector<int> sources;
};

// The tensors that the stage reads across its rows, along the axis of the first of them: each once, and no inlined
// stage in its place.
Transposed transposed(const Graph&, const Stage&);

//   for i: for j: B[i, j] = A[j, i]
//     ==>
//   parallel i.o: for j.o:
//     for j: vectorized i: A.global[j, i] = A[j, i]
//     for i.o: for j.o: B.local[i, j] = A.global[j, i], in tiles that are turned in registers
//     for i.i: vectorized j.i: B[i, j] = B.local[i, j]
//
// Rows that lie a multiple of 4 KiB apart have all lines of a column in one set of the nearest cache, which holds a
// few: a line of which some elements were read or written is gone before the next tile comes to the others. Copies take
// and give whole rows of a block. Whether the stage is such a one, and how many columns blocks have, the best for most
// first; `turn_in_blocks` with one of these.
std::vector<int64_t> columns_of_blocks(const Graph&, const Stage&);
void turn_in_blocks(Sketch&, const Stage&, int64_t lanes, int64_t columns);

}  // namespace tw::autotune::sketch
