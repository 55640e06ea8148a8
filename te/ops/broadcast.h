// Shapes that are repeated to fit, as in NumPy: dimensions of 1, and those missing in front.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "te/ops/axes.h"

namespace tw::te::ops {

// The shape that all of them are repeated to.
std::vector<Expr> broadcast_shape(const Site&, const std::vector<std::pair<std::string, Tensor>>& tensors);

// The subscripts of x at a point of a shape that it is repeated to.
std::vector<Expr> broadcast_at(const Tensor& x, const std::vector<Expr>& point);

}  // namespace tw::te::ops
