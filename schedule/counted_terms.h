// How many terms `where=` leaves to a reduction.
#pragma once

#include "schedule/loop_nest.h"

namespace tw::schedule {

// Shares of all terms of all elements.
struct CountedTerms {
  double counted = 1;
  double visited = 1;  // by loops: lanes of a vector leave out what they differ in under a mask
  bool masks = false;
  bool exact = true;  // each condition is about one index or two, and all their places were looked at
};

// Of long axes a sample is looked at.
CountedTerms counted_terms(const StageNest&, const ir::Reduce&);

// Whether the condition depends on an axis along which lanes of a vector run.
bool runs_along_lanes(const StageNest&, const ir::Expr& condition);

}  // namespace tw::schedule
