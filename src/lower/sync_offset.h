// Subscripts from an offset:  n * (x * 16 + y) + z  of a buffer of m times n elements is  [x * 16 + y, z],  if z is in
// 0..n.
#pragma once

#include <functional>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// Without  x // n * n + x % n,  which is x for an n that is not 0: a buffer of that extent has an element.
ir::Expr refolded(const ir::Expr& offset, const ir::Bounds& bounds);

// Taken apart at each extent of `buffer` that is no constant, the innermost last; empty where a part is not seen to be
// within 0..extent, which `within(part, extent)` proves, or the buffer has strides.
std::vector<ir::Expr> subscripts_of(const ir::Expr& offset, const ir::Buffer& buffer, const ir::Bounds& bounds,
                                    const std::function<bool(const ir::Expr&, const ir::Expr&)>& within);

}  // namespace tw::lower
