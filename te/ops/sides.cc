#include "te/ops/sides.h"

#include "src/ir/equal.h"
#include "te/ops/axes.h"

namespace tw::te::ops {

Tensor surrounded(const Site& site, const Tensor& x, const std::vector<Sides>& sides, const Expr& value,
                  const std::string& name, std::vector<std::string> axes) {
  std::vector<Expr> shape;
  for (size_t d = 0; d < x.rank(); ++d) shape.push_back(plus(x.shape()[d], sides[d].before + sides[d].behind));
  const auto body = [&](const std::vector<Var>& i) -> std::vector<Expr> {
    std::vector<Expr> at = exprs(i), conditions;
    for (size_t d = 0; d < sides.size(); ++d) {
      const auto [before, behind] = sides[d];
      if (before > 0) conditions.push_back(at[d] >= Expr(before));
      if (behind > 0) conditions.push_back(at[d] < plus(x.shape()[d], before));
      if (before > 0) at[d] = at[d] - Expr(before);
    }
    return {conditions.empty() ? x(at) : if_then_else(te::all(conditions), x(at), value)};
  };
  return compute_tuple(std::move(shape), body, name, std::move(axes), site.where,
                       ir::equal(value, ir::imm(x.dtype(), 0)))[0];
}

}  // namespace tw::te::ops
