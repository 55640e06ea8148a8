// Shapes that are repeated to fit.
#include "te/ops/broadcast.h"

#include <algorithm>

namespace tw::te::ops {

std::vector<Expr> broadcast_shape(const Site& site, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  size_t rank = 0;
  for (const auto& [argument, t] : tensors) {
    expect_given(site, argument, t);
    rank = std::max(rank, t.rank());
  }
  std::vector<Expr> shape(rank, Expr(1));
  for (const auto& [argument, t] : tensors)
    for (size_t d = 0; d < t.rank(); ++d) {
      Expr& extent = shape[rank - t.rank() + d];
      if (ir::is_int(t.shape()[d], 1) || same_extent(extent, t.shape()[d])) continue;
      if (!ir::is_int(extent, 1)) {
        std::vector<std::string> notes;
        for (const auto& [name, tensor] : tensors) notes.push_back(describe(name, tensor));
        site.refuse(
            ErrorKind::kExpr,
            "shapes must agree, or be 1 to be repeated, not " + short_text(extent) + " and " + short_text(t.shape()[d]),
            std::move(notes));
      }
      extent = t.shape()[d];
    }
  return shape;
}

std::vector<Expr> broadcast_at(const Tensor& x, const std::vector<Expr>& point) {
  std::vector<Expr> at;
  for (size_t d = 0; d < x.rank(); ++d)
    at.push_back(ir::is_int(x.shape()[d], 1) ? Expr(0) : point[point.size() - x.rank() + d]);
  return at;
}

}  // namespace tw::te::ops
