// How many passes through shared memory a warp's access takes.
//
//   32 banks of 4 bytes, a word of each in a pass; equal words are one:
//   P[tx], float32: 1     P[tx * 2]: 2     P[tx, 0] of rows of 32: 32; of rows of 33: 1     P[0]: 1
//
// Accesses of 8 or 16 bytes are those of halves or quarters of a warp, one after the other; equal ones are one.
#pragma once

#include <cstdint>
#include <vector>

namespace tw::schedule {

// `at`: of each thread of the warp the first byte; `width`: bytes that each of them reads or writes.
int64_t bank_wavefronts(const std::vector<int64_t>& at, int64_t width);

}  // namespace tw::schedule
