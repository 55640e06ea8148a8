// What operators ask of their tensors and axes.
#include "te/ops/axes.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "te/dtype.h"

namespace tw::te::ops {
namespace {

bool reduces(const std::vector<size_t>& axes, size_t d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); }

}  // namespace

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text;
  for (const Expr& e : shape) text += (text.empty() ? "" : ", ") + short_text(e);
  return "[" + text + "]";
}

std::string describe(const std::string& argument, const Tensor& x) {
  return argument + ": " + dtype_name(x.dtype()) + shape_text(x.shape());
}

void expect_given(const Site& site, const std::string& argument, const Tensor& x) {
  if (!x) site.refuse(ErrorKind::kArgument, argument + " must be a tensor, and none was given");
}

void expect_float(const Site& site, const std::string& argument, const Tensor& x) {
  expect_given(site, argument, x);
  if (x.dtype().is_float()) return;
  site.refuse(ErrorKind::kDType, argument + " must be of floats, not " + dtype_name(x.dtype()),
              {describe(argument, x),
               "convert it: te.compute(x.shape, lambda *i: x(*i).astype(\"float32\")); it costs nothing where it is "
               "inlined"});
}

void expect_number(const Site& site, const std::string& argument, const Tensor& x) {
  expect_given(site, argument, x);
  if (x.dtype().is_storage())
    site.refuse(ErrorKind::kDType, argument + " must be of numbers to calculate with, not " + dtype_name(x.dtype()),
                {describe(argument, x), way_out_of_storage(x.dtype())});
  if (x.dtype().is_bool())
    site.refuse(ErrorKind::kDType, argument + " must be of numbers, not bool",
                {describe(argument, x), "convert it: te.compute(x.shape, lambda *i: x(*i).astype(\"int32\"))"});
}

void expect_integer(const Site& site, const std::string& argument, const Tensor& x) {
  expect_number(site, argument, x);
  if (x.dtype().is_float())
    site.refuse(ErrorKind::kDType, argument + " must be of integers, not " + dtype_name(x.dtype()),
                {describe(argument, x)});
}

void expect_dtype(const Site& site, const std::string& argument, const Tensor& x, Type type) {
  expect_given(site, argument, x);
  if (x.dtype() != type)
    site.refuse(ErrorKind::kDType, argument + " must be of " + dtype_name(type) + ", not " + dtype_name(x.dtype()),
                {describe(argument, x)});
}

bool same_extent(const Expr& a, const Expr& b) { return ir::equal(ir::simplify(a), ir::simplify(b)); }

void expect_vector_of(const Site& site, const std::string& argument, const Tensor& v, const Tensor& x, size_t d) {
  expect_given(site, argument, v);
  if (v.rank() == 1 && same_extent(v.shape()[0], x.shape()[d])) return;
  site.refuse(ErrorKind::kExpr,
              argument + " must have shape " + shape_text({x.shape()[d]}) + ", not " + shape_text(v.shape()),
              {describe("x", x), "one value for each index of axis " + std::to_string(d) + " of x"});
}

size_t axis_of(const Site& site, size_t rank, int64_t axis, const std::string& argument) {
  const auto n = static_cast<int64_t>(rank);
  if (n == 0) site.refuse(ErrorKind::kExpr, "x must have at least one dimension, not none");
  if (axis < -n || axis >= n)
    site.refuse(ErrorKind::kExpr,
                argument + " must lie in " + std::to_string(-n) + ".." + std::to_string(n - 1) + ", not " +
                    std::to_string(axis),
                {"the tensor has " + std::to_string(n) + (n == 1 ? " dimension" : " dimensions")});
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

std::vector<size_t> axes_of(const Site& site, size_t rank, const std::vector<int64_t>& axes) {
  std::vector<size_t> result;
  for (const int64_t axis : axes) {
    const size_t d = axis_of(site, rank, axis);
    if (reduces(result, d))
      site.refuse(ErrorKind::kExpr, "axis must name each dimension once, not " + std::to_string(d) + " twice");
    result.push_back(d);
  }
  for (size_t d = 0; axes.empty() && d < rank; ++d) result.push_back(d);
  std::sort(result.begin(), result.end());
  return result;
}

int64_t known_extent(const Site& site, const std::string& argument, const Tensor& x, size_t d) {
  if (const auto value = ir::as_int(x.shape()[d])) return *value;
  site.refuse(ErrorKind::kExpr,
              argument + " must have a known extent on axis " + std::to_string(d) + ", not " + short_text(x.shape()[d]),
              {describe(argument, x), "the shape of the result depends on it"});
}

Type accumulator(Type type) { return type.is_half() ? Type::f(32) : type; }

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

Expr number(Type type, const Expr& index) {
  return convert(type, ir::as_int(index) ? index : ir::cast(Type::i(64), index));
}

std::vector<Expr> exprs(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

Reduced::Reduced(const Tensor& x, std::vector<size_t> axes, bool keepdims)
    : rank_(x.rank()), axes_(std::move(axes)), keepdims_(keepdims) {
  for (size_t d = 0; d < rank_; ++d) {
    if (reduces(axes_, d)) {
      const std::string name = axes_.size() == 1 ? "r" : "r" + std::to_string(over_.size());
      over_.push_back(reduce_axis(0, x.shape()[d], name));
      if (keepdims_) shape_.push_back(1);
    } else {
      shape_.push_back(x.shape()[d]);
    }
  }
}

std::vector<Expr> Reduced::point(const std::vector<Var>& result) const {
  std::vector<Expr> at;
  size_t reduced = 0, kept = 0;
  for (size_t d = 0; d < rank_; ++d) {
    const bool over = reduces(axes_, d);
    at.push_back(over ? Expr(over_[reduced++]) : Expr(result[kept]));
    if (!over || keepdims_) ++kept;
  }
  return at;
}

std::vector<Expr> Reduced::result(const std::vector<Var>& point) const {
  std::vector<Expr> at;
  for (size_t d = 0; d < rank_; ++d) {
    if (!reduces(axes_, d)) at.push_back(point[d]);
    if (reduces(axes_, d) && keepdims_) at.push_back(0);
  }
  return at;
}

Expr Reduced::count() const {
  Expr n = 1;
  for (const IterVar& axis : over_) n = n * axis.extent;
  return ir::simplify(n);
}

}  // namespace tw::te::ops
