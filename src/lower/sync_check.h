// Whether the barriers of a program's launches suffice, and whether all threads of a block come to each of them: proved
// from the text, for all sizes.
//
//   between barriers   any two accesses of two threads of a block to one element are reads
//   between blocks     no access to what another block of the launch writes
//   at a barrier       conditions and loops around it are the same for all threads of a block
//   at a product       those around it, and where its fragments are, are the same for all lanes of a warp, or for all
//                      threads of four
//   on its way         nobody touches what is stored later, nor writes what it reads, before a wait of the thread that
//                      stores it; from there on it is an access like others, which a barrier ends
//   in two roles       who copies fills no slot before it was read, who reads touches none that has not come
//                      (sync_roles.h); registers that some take others have given back (sync_registers.h)
//
// Two threads of a block are at the same barrier at the same time, so a loop with a barrier in its body has one
// iteration at a time for both: its first, any other after the one before it, and what follows after its last. Every
// other loop is each thread's own affair. What is not proved is reported; no knowledge of how barriers came into the
// program is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::lower {

struct SyncFinding {
  enum class Kind : uint8_t {
    kReadAfterWrite,
    kWriteAfterRead,
    kWriteAfterWrite,
    kDivergentBarrier,
    kForeignCall,
    kDivergentProduct,
    kOnItsWay,
    kUnjudged,  // a launch took too long: loops that need not run within each other, of which much may be left each
                // time
  };
  Kind kind;
  std::string buffer;         // but of a barrier, a product or a call
  std::string first, second;  // statements; of a barrier or a product, what is not the same for all threads
  std::string why;
  bool certain = false;  // two threads are known that meet
};
std::string to_string(
    const SyncFinding&);  // "read after write: tile, threads (tx = 0) and (tx = 7) meet", and the statements

// The work that one launch may take before it is not judged: rows of the systems by which pairs of accesses are apart.
inline constexpr int64_t kRowsOfSyncCheck = 2'000'000;  // seconds
std::vector<SyncFinding> sync_check(const ir::Program&, int64_t most_rows = kRowsOfSyncCheck);

}  // namespace tw::lower
