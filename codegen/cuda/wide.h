// Memory in whole vectors, values lane by lane: a device reads and writes up to 16 bytes at once, and calculates with
// scalars.
//
//   C[i*4 : 4] = A[i*4 : 4] * 2.0      ==>      alloc A_v: float32[4] local, alloc C_v: float32[4] local
//                                               A_v[0 : 4] = A[i*4 : 4]
//                                               C_v[0 : 4] = A_v[0 : 4] * 2.0
//                                               C[i*4 : 4] = C_v[0 : 4]
//
// Requires: a lowered program, subscripts flat.
// Establishes: where an address is proved to be a multiple of the vector's size (argument buffers begin at one, as
// `argument_alignment` says), the statement that touches it is such a copy, in which nothing is calculated. Others
// stay.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "tensorwright/ir.h"

namespace tw::codegen {

ir::Stmt wide_accesses(const ir::Stmt& body);

// A store of a load, both of whole vectors.
bool is_wide_copy(const ir::Store&);

// The local buffers that such copies fill or read: each is one vector.
std::unordered_set<uint64_t> vectors_in(const ir::Stmt& body);

// What addresses of the buffer must be multiples of, for the copies in `body`: its element's size or more, 16 at most.
int argument_alignment(const ir::Stmt& body, const ir::Buffer&);

}  // namespace tw::codegen
