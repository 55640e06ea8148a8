// How many tiles a block of a persistent stage has: those that are left from its own first one on, every p-th of n.
//
//   t = t.o*p + b, over 0..n     ==>     for t.o in 0..(n + p - 1 - b) // p
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

ir::Expr tiles_of_block(const StageNest&, const StageBounds&);

}  // namespace tw::schedule
