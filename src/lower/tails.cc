// Guards into loops: see loop_split.

#include "src/lower/tails.h"

#include "src/ir/scalars.h"
#include "src/lower/loop_split.h"

namespace tw::lower {

ir::Program tails(const ir::Program& p, const Target&) {
  ir::Program out = p;
  out.body = split_loops(p.body, SplitAt::kGuards, kMaxCopies, ir::scalar_bounds(p));
  return out;
}

}  // namespace tw::lower
