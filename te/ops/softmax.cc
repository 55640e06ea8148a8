// softmax and log_softmax along an axis: of the axis' values exp(x) / sum(exp(x)), and x - log(sum(exp(x))).
//
//   softmax_max[..] = max x;  softmax_exp = exp(x - max);  softmax_sum = sum of exp;
//   softmax_scale = 1 / sum;  softmax = exp * scale
//
// The largest is taken off first, so nothing overflows. NaN or +inf anywhere, and -inf everywhere, along the axis make
// the values NaN: inf - inf is. Halves are calculated with in float32 and rounded once.
#include "tensorwright/ops/softmax.h"

#include "te/dtype.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

// What both begin with: the largest of each line along the axis, and x in what it is calculated with.
struct Lines {
  Tensor x, largest;
  Reduced line;

  Lines(const Site& site, const Tensor& given, int64_t axis, const std::string& name)
      : x(given), line(given, {axis_of(site, given.rank(), axis)}, false) {
    largest = compute(
        line.shape(), [&](const std::vector<Var>& i) { return te::max(value(line.point(i)), line.over()); },
        name + "_max", {}, site.where);
  }
  Expr value(const std::vector<Expr>& at) const { return convert(accumulator(x.dtype()), x(at)); }
  Expr below_largest(const std::vector<Var>& i) const { return value(exprs(i)) - largest(line.result(i)); }
};

Lines lines_of(const Site& site, const Tensor& x, int64_t axis, const std::string& name) {
  expect_float(site, "x", x);
  return {site, x, axis, name};
}

}  // namespace

Tensor softmax(const Tensor& x, SoftmaxOptions options, SourceLine where) {
  const std::string name = options.name.empty() ? "softmax" : options.name;
  const Lines lines = lines_of({"softmax", where}, x, options.axis, name);
  const Reduced& line = lines.line;
  const Tensor e = compute(
      x.shape(), [&](const std::vector<Var>& i) { return exp(lines.below_largest(i)); }, name + "_exp", {}, where);
  const Tensor total = compute(
      line.shape(), [&](const std::vector<Var>& i) { return te::sum(e(line.point(i)), line.over()); }, name + "_sum",
      {}, where);
  const Tensor scale = compute(  // one division a line in the place of one an element
      line.shape(), [&](const std::vector<Var>& i) { return divide(ir::imm(total.dtype(), 1), total(exprs(i))); },
      name + "_scale", {}, where);
  return compute(
      x.shape(), [&](const std::vector<Var>& i) { return convert(x.dtype(), e(exprs(i)) * scale(line.result(i))); },
      name, {}, where);
}

Tensor log_softmax(const Tensor& x, SoftmaxOptions options, SourceLine where) {
  const std::string name = options.name.empty() ? "log_softmax" : options.name;
  const Lines lines = lines_of({"log_softmax", where}, x, options.axis, name);
  const Reduced& line = lines.line;
  const Tensor total = compute(
      line.shape(),
      [&](const std::vector<Var>& i) {
        return te::sum(exp(lines.value(line.point(i)) - lines.largest(exprs(i))), line.over());
      },
      name + "_sum", {}, where);
  const Tensor logarithm =
      compute(line.shape(), [&](const std::vector<Var>& i) { return log(total(exprs(i))); }, name + "_log", {}, where);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) { return convert(x.dtype(), lines.below_largest(i) - logarithm(line.result(i))); },
      name, {}, where);
}

}  // namespace tw::te::ops
