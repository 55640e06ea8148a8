// Reductions over axes of a tensor. No axis given means all of them; `keepdims` leaves an extent of 1 in the place of
// each. Errors: kExpr for axes, kDType for dtypes, kArgument for options. An empty `name` is that of the operator.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct ReduceOptions {
  std::vector<int64_t> axis = {};
  bool keepdims = false;
  std::string dtype = {};  // of sum and prod: what is added up in, and the result
  std::string name = {};
  void fields(auto&& f) { f("axis", axis), f("keepdims", keepdims), f("dtype", dtype), f("name", name); }
};

// Of integers and bool in int64 (uint64 stays) where no dtype is given, as in NumPy and PyTorch. Halves are added up in
// float32 and rounded once. Over nothing 0 and 1.
Tensor sum(const Tensor& x, ReduceOptions = {}, SourceLine where = std::source_location::current());
Tensor prod(const Tensor& x, ReduceOptions = {}, SourceLine where = std::source_location::current());

struct AxisOptions {
  std::vector<int64_t> axis = {};
  bool keepdims = false;
  std::string name = {};
  void fields(auto&& f) { f("axis", axis), f("keepdims", keepdims), f("name", name); }
};
// Of floats: sum / count. Over nothing NaN.
Tensor mean(const Tensor& x, AxisOptions = {}, SourceLine where = std::source_location::current());
// Of numbers. NaN is the result where it is met. Over nothing -inf, +inf; of integers the ends of the dtype.
Tensor max(const Tensor& x, AxisOptions = {}, SourceLine where = std::source_location::current());
Tensor min(const Tensor& x, AxisOptions = {}, SourceLine where = std::source_location::current());
// Of floats: log(sum(exp(x))), without overflow.
Tensor logsumexp(const Tensor& x, AxisOptions = {}, SourceLine where = std::source_location::current());

struct VarianceOptions {
  std::vector<int64_t> axis = {};
  bool keepdims = false;
  int64_t correction = 1;  // 0: of the values themselves; 1: estimated from a sample
  std::string name = {};
  void fields(auto&& f) { f("axis", axis), f("keepdims", keepdims), f("correction", correction), f("name", name); }
};
// var: of floats sum((x - mean)^2) / (count - correction), by two passes; NaN or inf where the divisor is not above 0.
// std is its square root.
Tensor variance(const Tensor& x, VarianceOptions = {}, SourceLine where = std::source_location::current());
Tensor standard_deviation(const Tensor& x, VarianceOptions = {}, SourceLine where = std::source_location::current());

struct ArgOptions {
  int64_t axis = -1;
  bool keepdims = false;
  std::string dtype = "int32";  // of the result: int32 or int64
  std::string name = {};
  void fields(auto&& f) { f("axis", axis), f("keepdims", keepdims), f("dtype", dtype), f("name", name); }
};
// The index of the largest (smallest) number along an axis; of several equal ones the first; the first NaN where there
// is one. The axis must not be empty.
Tensor argmax(const Tensor& x, ArgOptions = {}, SourceLine where = std::source_location::current());
Tensor argmin(const Tensor& x, ArgOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
