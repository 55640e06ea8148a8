#include "te/ops/sides.h"

#include "te/ops/axes.h"

namespace tw::te::ops {

Tensor surrounded(const Site& site, const Tensor& x, const std::vector<Sides>& sides, const Expr& value,
                  const std::string& name, std::vector<std::string> axes) {
  std::vector<Expr> shape;
  for (size_t d = 0; d < x.rank(); ++d) shape.push_back(plus(x.shape()[d], sides[d].before + sides[d].behind));
  const auto body = [&](const std::vector<Var>& i) {
    std::vector<Expr> at = exprs(i), conditions;
    for (size_t d = 0; d < sides.size(); ++d) {
      const auto [before, behind] = sides[d];
      if (before > 0) conditions.push_back(at[d] >= Expr(before));
      if (behind > 0) conditions.push_back(at[d] < plus(x.shape()[d], before));
      if (before > 0) at[d] = at[d] - Expr(before);
    }
    return conditions.empty() ? x(at) : if_then_else(te::all(conditions), x(at), value);
  };
  return compute(std::move(shape), body, name, std::move(axes), site.where);
}

std::vector<int64_t> one_for_each(const Site& site, const std::string& option, const std::vector<int64_t>& given,
                                  size_t n, int64_t least) {
  if (given.size() != 1 && given.size() != n)
    site.refuse(ErrorKind::kArgument, option + " must be one number or " + std::to_string(n) +
                                          ", one for each dimension, not " + std::to_string(given.size()));
  for (const int64_t value : given)
    if (value < least)
      site.refuse(ErrorKind::kArgument,
                  option + " must be at least " + std::to_string(least) + ", not " + std::to_string(value));
  return given.size() == n ? given : std::vector<int64_t>(n, given[0]);
}

}  // namespace tw::te::ops
