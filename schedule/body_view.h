// What the bodies of a stage read, write and compute, for nest_view.h.
#pragma once

#include <vector>

#include "schedule/layout.h"
#include "schedule/nest_view.h"

namespace tw::schedule {

// Of the axes that the loops of a stage are made of.
size_t root_count(const StageNest&);

// An extent, with kAssumedExtent in the place of variables.
int64_t assumed(const ir::Expr& extent);

// In vector instructions of float32 that take as long.
double cost_of_call(ir::Fn);

// Its accesses and operations, as its own bodies or those with others inlined have them.
void read_bodies(const LoopNest&, const StageNest&, const std::vector<ir::Expr>& bodies, StageView&);

// From the dimensions of a tensor to those of its memory. A map's digits of single axes, and sums of whole ones, are
// affine enough: (i + 3) // 16 grows by 1 every 16.
void in_memory(const IndexMap&, AccessView&);

}  // namespace tw::schedule
