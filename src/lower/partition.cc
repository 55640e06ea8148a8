// Padding conditions into loops: see loop_split.

#include "src/lower/partition.h"

#include "src/ir/scalars.h"
#include "src/lower/clamps.h"
#include "src/lower/launches.h"
#include "src/lower/loop_split.h"
#include "src/lower/tails.h"

namespace tw::lower {

ir::Program partition(const ir::Program& p, const Target&) {
  ir::Program out = p;
  out.body = split_loops(p.body, SplitAt::kSelects, kMaxCopies, ir::scalar_bounds(p));
  if (!holds_launch(p)) out.body = with_clamped_reads(out.body);
  return out;
}

}  // namespace tw::lower
