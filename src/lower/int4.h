// Writes loads and stores of 4-bit integers as those of the bytes that hold two of them, the first in the low half.
//
//   kernel f(A: int4[9], C: out int8[9]):          ==>   kernel f(A: uint8[5] holding int4[9], C: out int8[9]):
//     for i in 0..9: C[i] = int8(A[i])                     for i in 0..9: C[i] = int8(A[i // 2]) << 4 - i % 2 * 4 >> 4
//
// A store changes half of its byte. Where lanes that begin at an even element fill whole bytes, those are stored at
// once, and copied as bytes from where they fill some too; other lanes are stored one after the other. Buffers that are
// stored to by halves are set to 0 first, so that no half is read before it is written, and what an odd number of
// elements leaves over is 0.
//
// Requires: flat subscripts; that no two iterations of a parallel loop store to one byte (ir::shared_byte).
// Establishes: no value, buffer or variable is a 4-bit integer; values are 8-bit integers in the range of 4. Parameters
// keep what the caller has as `declared`. Leaves alone: everything else.
#pragma once

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program int4(const ir::Program&, const Target&);

}  // namespace tw::lower
