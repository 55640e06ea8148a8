// Whether a program of unknown origin, one that a person has edited, stays inside its buffers and keeps apart what runs
// at once: proved from its text, for all sizes. What lowering makes of a schedule keeps this by construction, and is
// not asked.
//
//   accesses    every subscript is in its buffer wherever it is evaluated
//   parallel    no two iterations of a parallel loop touch one element that one of them writes
//   launches    sync_check.h
//   calls       of C functions of numbers alone, as nobody here knows what others touch; of a warp's products and loads
//   each lane's part is inside
//
// What is not proved counts as found.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::lower {

struct SafetyFinding {
  std::string what;       // "B[i + 1]: not seen to stay inside of B: float32[64]"
  std::string statement;  // where, its first line
};

// In the order of the text; empty: safe.
std::vector<SafetyFinding> safety_check(const ir::Program&);

}  // namespace tw::lower
