// Stores that arrive later become copies of the device's own, or go through registers.
//
//   S[f] = A[g] later                        S[f] = A[g] later by cp.async    // 4, 8 or 16 bytes, as they lie in both
//
//   for k in 0..n:                           alloc S.next: [4] local
//     sync wait 0                            for k in 0..n:
//     sync block                               sync block
//     if k + 1 < n:                            if k + 1 < n:
//       for i in 0..4: S[..] = f(A) later  ==>   for i in 0..4: S.next[i] = f(A)
//     sync commit                              rest(k)
//     rest(k)                                  if k + 1 < n:
//                                                for i in 0..4: S[..] = S.next[i]
//
// Where the rest ends with a wait for products of four warps the stores stand before it: products go on meanwhile.
//
// Requires: `cooperative` is through: who copies what, and how many elements at once, is known.
// Establishes: what still arrives later is a copy that the device has an instruction for. What it has none for is kept
// in registers until the end of the iteration that reads it, or stored at once where no rest stands behind it; where no
// copy is left nobody waits for any. A rounding by te.tf32 waits too: what is read would have to be there for it.
#pragma once

#include <optional>
#include <string>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

ir::Program copies(const ir::Program&, const Target&);

// Of a program as schedules give it: the first store `later by cp.async` that is no such copy.
struct NoCopy {
  std::string buffer;
  std::string why;
};
std::optional<NoCopy> refused_copy(const ir::Program&, const Target&);

}  // namespace tw::lower
