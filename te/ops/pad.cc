// pad: elements around a tensor.
//
//   constant  pad[i] = before <= i < before + n ? x[i - before] : value
//   reflect   pad[i] = x[|i - before|], and beyond the end x[2 (n - 1) - (i - before)]
//   edge      pad[i] = x[min(max(i - before, 0), n - 1)]
//   wrap      pad[i] = x[(i - before) % n]
#include <algorithm>

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/exact.h"
#include "te/ops/sides.h"
#include "tensorwright/ops/shape.h"

namespace tw::te::ops {
namespace {

// For each axis; given are those of the last ones.
std::vector<Sides> sides_of(const Site& site, const Tensor& x, const PadOptions& o) {
  const size_t n = o.before.size();
  if (o.behind.size() != n || n > x.rank())
    site.refuse(ErrorKind::kArgument,
                "before and behind must be equally many, at most " + std::to_string(x.rank()) + ", not " +
                    std::to_string(n) + " and " + std::to_string(o.behind.size()),
                {describe("x", x), "one for each axis, or for the last ones"});
  std::vector<Sides> sides(x.rank());
  for (size_t d = 0; d < n; ++d) {
    Sides& s = sides[x.rank() - n + d];
    s = {o.before[d], o.behind[d]};
    if (s.before < 0 || s.behind < 0)
      site.refuse(ErrorKind::kArgument,
                  "before and behind must be from 0 on, not " + std::to_string(std::min(s.before, s.behind)),
                  {"strided_slice takes elements off"});
  }
  return sides;
}

void expect_elements(const Site& site, const Tensor& x, const std::vector<Sides>& sides, const std::string& mode) {
  for (size_t d = 0; d < sides.size(); ++d) {
    const int64_t most = std::max(sides[d].before, sides[d].behind);
    if (most == 0) continue;
    const auto n = ir::as_int(x.shape()[d]);  // of an unknown extent the caller knows
    if (n && *n < (mode == "reflect" ? most + 1 : 1))
      site.refuse(ErrorKind::kExpr,
                  "axis " + std::to_string(d) + " of x must have more elements for " + mode + " of " +
                      std::to_string(most) + ", not " + std::to_string(*n),
                  {describe("x", x)});
  }
}

// The place in x that stands at place i of the result.
Expr repeated(const Expr& i, const Expr& n, Sides sides, const std::string& mode) {
  if (sides.before == 0 && sides.behind == 0) return i;
  Expr place = sides.before > 0 ? i - Expr(sides.before) : i;
  if (mode == "wrap") return ir::floormod(place, n);
  const Expr last = minus(n, 1);
  if (mode == "edge") {
    if (sides.before > 0) place = ir::max(place, 0);
    return sides.behind > 0 ? ir::min(place, last) : place;
  }
  if (sides.before > 0) place = ir::max(place, Expr(0) - place);
  return sides.behind > 0 ? ir::min(place, times(last, 2) - place) : place;
}

Expr padding_of(const Site& site, const Tensor& x, Number value) {
  if (const auto padding = exact(x.dtype(), value)) return *padding;
  site.refuse(ErrorKind::kArgument,
              "value must be of " + dtype_name(x.dtype()) + ", as x, not " + std::to_string(value));
}

}  // namespace

Tensor pad(const Tensor& x, PadOptions options, SourceLine where) {
  const Site site{"pad", std::move(where)};
  expect_given(site, "x", x);
  const bool constant = options.mode == "constant";
  if (!constant && options.mode != "reflect" && options.mode != "edge" && options.mode != "wrap")
    site.refuse(ErrorKind::kArgument,
                "mode must be \"constant\", \"reflect\", \"edge\" or \"wrap\", not \"" + options.mode + "\"");
  const std::vector<Sides> sides = sides_of(site, x, options);
  if (!constant) expect_elements(site, x, sides, options.mode);
  if (constant && x.dtype().is_storage()) expect_number(site, "x", x);
  if (constant) return surrounded(site, x, sides, padding_of(site, x, options.value), options.name);
  std::vector<Expr> shape;
  for (size_t d = 0; d < x.rank(); ++d) shape.push_back(plus(x.shape()[d], sides[d].before + sides[d].behind));
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at;
        for (size_t d = 0; d < i.size(); ++d) at.push_back(repeated(i[d], x.shape()[d], sides[d], options.mode));
        return x(at);
      },
      options.name, {}, site.where);
}

}  // namespace tw::te::ops
