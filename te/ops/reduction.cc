// Reductions over axes: sum, prod, mean, max, min, logsumexp, variance, standard_deviation.
#include "tensorwright/ops/reduction.h"

#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/nan.h"
#include "te/promote.h"

namespace tw::te::ops {
namespace {

std::string name_or(const std::string& name, const Site& site) { return name.empty() ? site.op : name; }

// In what integers are added up: NumPy's and PyTorch's int64, unless a dtype is asked for.
Type sum_type(const Site& site, const Tensor& x, const std::string& dtype) {
  expect_given(site, "x", x);
  const Type type = x.dtype();
  if (dtype.empty()) return type.is_float() || type == Type::u(64) ? accumulator(type) : Type::i(64);
  const Type asked = site.dtype("dtype", dtype);
  if (asked.is_storage() || asked.is_bool() || (type.is_float() && !asked.is_float()))
    site.refuse(ErrorKind::kDType, "dtype must be one to add up in, not " + dtype_name(asked), {describe("x", x)});
  return accumulator(asked);
}

Type result_type(const Tensor& x, const std::string& dtype, Type sums) {
  if (!dtype.empty()) return dtype_named(dtype);
  return x.dtype().is_float() ? x.dtype() : sums;
}

using Reduction = Expr (*)(Expr, std::vector<IterVar>, Expr, Expr);

// The reduction, and where it is of halves a stage that rounds it.
Tensor reduced(const Site& site, const Tensor& x, const ReduceOptions& options, Reduction reduction) {
  const Type type = sum_type(site, x, options.dtype), result = result_type(x, options.dtype, type);
  if (x.dtype().is_storage()) expect_number(site, "x", x);
  const Reduced points(x, axes_of(site, x.rank(), options.axis), options.keepdims);
  const std::string name = name_or(options.name, site);
  const auto value = [&](const std::vector<Var>& i) { return convert(type, x(points.point(i))); };
  if (points.over().empty()) return compute(points.shape(), value, name, {}, site.where);
  const Tensor wide = compute(
      points.shape(), [&](const std::vector<Var>& i) { return reduction(value(i), points.over(), {}, {}); },
      type == result ? name : name + "_wide", {}, site.where);
  if (type == result) return wide;
  return compute(
      points.shape(), [&](const std::vector<Var>& i) { return convert(result, wide(exprs(i))); }, name, {}, site.where);
}

Expr wide(const Expr& e) { return convert(accumulator(e.type()), e); }

// Of a reduction that means nothing for a single element.
Reduced points_of(const Site& site, const Tensor& x, const std::vector<int64_t>& axes, bool keepdims) {
  if (x.rank() == 0) site.refuse(ErrorKind::kExpr, "x must have at least one dimension, not none");
  return Reduced(x, axes_of(site, x.rank(), axes), keepdims);
}

struct Variance {
  Tensor squares;  // the sum of squared distances from the mean
  Reduced points;
  Expr divisor;
};

Variance variance_of(const Site& site, const Tensor& x, const VarianceOptions& options, const std::string& name) {
  expect_float(site, "x", x);
  if (options.correction < 0)
    site.refuse(ErrorKind::kArgument, "correction must not be negative, not " + std::to_string(options.correction));
  Reduced points = points_of(site, x, options.axis, options.keepdims);
  const auto stage = [&](const char* suffix, const std::function<Expr(const std::vector<Var>&)>& body) {
    return compute(points.shape(), body, name + suffix, {}, site.where);
  };
  const Tensor total =
      stage("_sum", [&](const std::vector<Var>& i) { return te::sum(wide(x(points.point(i))), points.over()); });
  const Expr count = number(total.dtype(), points.count());
  const Tensor mean = stage("_mean", [&](const std::vector<Var>& i) { return divide(total(exprs(i)), count); });
  const Tensor squares = stage("_squares", [&](const std::vector<Var>& i) {
    const Expr distance = wide(x(points.point(i))) - mean(exprs(i));
    return te::sum(distance * distance, points.over());
  });
  const Expr corrected = arith(ir::BinOp::kSub, count, ir::imm(count.type(), static_cast<double>(options.correction)));
  return {squares, points, te::max(corrected, ir::imm(count.type(), 0))};
}

}  // namespace

Tensor sum(const Tensor& x, ReduceOptions options, SourceLine where) {
  return reduced({"sum", std::move(where)}, x, options, te::sum);
}

Tensor prod(const Tensor& x, ReduceOptions options, SourceLine where) {
  return reduced({"prod", std::move(where)}, x, options, te::prod);
}

Tensor mean(const Tensor& x, AxisOptions options, SourceLine where) {
  const Site site{"mean", std::move(where)};
  expect_float(site, "x", x);
  const Reduced points = points_of(site, x, options.axis, options.keepdims);
  const std::string name = name_or(options.name, site);
  const Tensor total = compute(
      points.shape(), [&](const std::vector<Var>& i) { return te::sum(wide(x(points.point(i))), points.over()); },
      name + "_sum", {}, site.where);
  const Expr count = number(total.dtype(), points.count());
  return compute(
      points.shape(), [&](const std::vector<Var>& i) { return convert(x.dtype(), divide(total(exprs(i)), count)); },
      name, {}, site.where);
}

namespace {

Tensor extreme(const Site& site, const Tensor& x, const AxisOptions& options, bool largest) {
  expect_number(site, "x", x);
  const Reduced points = points_of(site, x, options.axis, options.keepdims);
  return compute(
      points.shape(),
      [&](const std::vector<Var>& i) { return extreme_or_nan(largest, x(points.point(i)), points.over()); },
      name_or(options.name, site), {}, site.where);
}

}  // namespace

Tensor max(const Tensor& x, AxisOptions options, SourceLine where) {
  return extreme({"max", std::move(where)}, x, options, true);
}

Tensor min(const Tensor& x, AxisOptions options, SourceLine where) {
  return extreme({"min", std::move(where)}, x, options, false);
}

Tensor logsumexp(const Tensor& x, AxisOptions options, SourceLine where) {
  const Site site{"logsumexp", std::move(where)};
  expect_float(site, "x", x);
  const Reduced points = points_of(site, x, options.axis, options.keepdims);
  const std::string name = name_or(options.name, site);
  const Tensor largest = compute(
      points.shape(), [&](const std::vector<Var>& i) { return te::max(wide(x(points.point(i))), points.over()); },
      name + "_max", {}, site.where);
  // An infinity that is the largest is not taken off: inf - inf is NaN.
  const Tensor shift = compute(
      points.shape(),
      [&](const std::vector<Var>& i) {
        const Expr m = largest(exprs(i));
        return te::select(isinf(m), ir::imm(m.type(), 0), m);
      },
      name + "_shift", {}, site.where);
  const Tensor total = compute(
      points.shape(),
      [&](const std::vector<Var>& i) {
        return te::sum(exp(wide(x(points.point(i))) - shift(exprs(i))), points.over());
      },
      name + "_sum", {}, site.where);
  return compute(
      points.shape(),
      [&](const std::vector<Var>& i) { return convert(x.dtype(), log(total(exprs(i))) + shift(exprs(i))); }, name, {},
      site.where);
}

Tensor variance(const Tensor& x, VarianceOptions options, SourceLine where) {
  const Site site{"var", std::move(where)};
  const std::string name = name_or(options.name, site);
  const Variance v = variance_of(site, x, options, name);
  return compute(
      v.points.shape(),
      [&](const std::vector<Var>& i) { return convert(x.dtype(), divide(v.squares(exprs(i)), v.divisor)); }, name, {},
      site.where);
}

Tensor standard_deviation(const Tensor& x, VarianceOptions options, SourceLine where) {
  const Site site{"std", std::move(where)};
  const std::string name = name_or(options.name, site);
  const Variance v = variance_of(site, x, options, name);
  return compute(
      v.points.shape(),
      [&](const std::vector<Var>& i) { return convert(x.dtype(), sqrt(divide(v.squares(exprs(i)), v.divisor))); }, name,
      {}, site.where);
}

}  // namespace tw::te::ops
