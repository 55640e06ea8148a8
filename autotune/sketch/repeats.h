// What costs more where it is computed for each element that reads it than where it waits in a cache.
#pragma once

#include <set>

#include "schedule/loop_nest.h"
#include "tensorwright/target.h"

namespace tw::autotune::sketch {

// Pointwise stages and windows of few terms along one axis that only one output reads, through each other: those whose
// rows are stored while the output's are computed (strips.cc), and those that are inlined beside these. Both empty
// where storing saves little.
struct Repeats {
  std::set<int> stored, inlined;
};

// Counted are the places of each stage that an element of a reader comes to, through all that is inlined: the window of
// a window is larger than both. A place costs the arithmetic of the stage, a stored one a read.
// REQUIRES: extents are known, nothing is inlined.
Repeats repeats(const schedule::LoopNest&, const Target&);

}  // namespace tw::autotune::sketch
