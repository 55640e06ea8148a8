#include "src/lower/neighbours.h"

#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

bool are_neighbours(const Buffer& buffer, const std::vector<Expr>& at, const Var& lane, int64_t lanes,
                    const Bounds& ranges) {
  Expr stride = 1;
  for (size_t d = at.size(); d-- > 0;) {
    const bool last = d + 1 == at.size();
    if (!buffer.strides().empty()) stride = buffer.strides()[d];
    const Expr first = substitute(at[d], {{lane.id(), Expr(0)}});
    const Expr apart = simplify(at[d] - first, ranges);
    const auto* moves = as<VarRef>(apart);
    if (last ? !(moves && moves->var == lane && is_int(stride, 1)) : uses_var(at[d], lane)) return false;
    if (!is_int(simplify(floormod(first * stride, Expr(lanes)), ranges), 0)) return false;
    stride = stride * buffer.shape()[d];
  }
  return true;
}

}  // namespace tw::lower
