// ir::simplify over a program.

#include "src/lower/simplify.h"

#include "src/ir/scalars.h"
#include "src/ir/simplify.h"

namespace tw::lower {

ir::Program simplify(const ir::Program& p, const Target&) {
  ir::Program out = p;
  out.body = ir::simplify(p.body, ir::scalar_bounds(p));
  return out;
}

}  // namespace tw::lower
