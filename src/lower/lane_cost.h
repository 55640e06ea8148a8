// What a loop nest costs, roughly: enough to tell lanes that pay from lanes that don't.
#pragma once

#include "src/ir/interval.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

inline constexpr int64_t kAssumedTrips = 1024;  // of a loop whose extent is no number

// Cycles of a core that finds everything in its first cache. Loops marked vectorized are taken as vectors: one
// instruction for all lanes where they are side by side in memory, one for each lane where they are not. A sum takes
// its next term when the last one is in, so that sums which grow side by side hide each other's latency. `sizes`: of
// the variables of extents.
double cycles(const ir::Stmt&, const Target&, const ir::Bounds& sizes);

}  // namespace tw::lower
