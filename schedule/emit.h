// The loop program of a placed and bounded nest.
#pragma once

#include "schedule/match_intrin.h"
#include "schedule/prefetch.h"
#include "schedule/storage.h"

namespace tw::schedule {

// Live stages that are not among the arguments get scratch of the size of their region, allocated where they are
// computed.
ir::Stmt emit(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Slide>&, const IndexMaps&,
              const Arguments&, const std::vector<BoundIntrin>&);

// Marks the serial loops at and inside `loop` as unrolled while that makes at most `limit` statements.
ir::Stmt auto_unroll(const ir::Stmt& loop, int64_t limit);

}  // namespace tw::schedule
