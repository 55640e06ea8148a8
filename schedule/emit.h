// The loop program of a placed and bounded nest.
#pragma once

#include <unordered_map>

#include "schedule/bounds.h"

namespace tw::schedule {

// `arguments`: the caller's buffer of each stage that is in the argument list, by stage. Other live stages get scratch
// of the size of their region, allocated where they are computed.
ir::Stmt emit(const LoopNest&, const Placement&, const NestBounds&,
              const std::unordered_map<int, ir::Buffer>& arguments);

// Marks the serial loops at and inside `loop` as unrolled while that makes at most `limit` statements.
ir::Stmt auto_unroll(const ir::Stmt& loop, int64_t limit);

}  // namespace tw::schedule
