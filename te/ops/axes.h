// What operators ask of their tensors and axes; what is not so throws an Error that names operator and argument.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "te/ops/site.h"

namespace tw::te::ops {

// "x: float32[4, 8]".
std::string describe(const std::string& argument, const Tensor&);
std::string shape_text(const std::vector<Expr>&);

void expect_given(const Site&, const std::string& argument, const Tensor&);
void expect_float(const Site&, const std::string& argument, const Tensor&);
// Numbers to calculate with: neither bool nor a dtype that is for storage only.
void expect_number(const Site&, const std::string& argument, const Tensor&);
void expect_integer(const Site&, const std::string& argument, const Tensor&);
void expect_dtype(const Site&, const std::string& argument, const Tensor&, Type);
// A vector of as many elements as axis `d` of x has.
void expect_vector_of(const Site&, const std::string& argument, const Tensor&, const Tensor& x, size_t d);
bool same_extent(const Expr&, const Expr&);

// From either end: -rank <= axis < rank.
size_t axis_of(const Site&, size_t rank, int64_t axis, const std::string& argument = "axis");
// Sorted, each once; none given means all.
std::vector<size_t> axes_of(const Site&, size_t rank, const std::vector<int64_t>& axes);
// The extent as a number; te.var extents are refused.
int64_t known_extent(const Site&, const std::string& argument, const Tensor&, size_t d);

// What sums of this dtype are kept in: float32 for halves, else the dtype itself.
Type accumulator(Type);

// One number of an option for each of `n` dimensions; one given counts for all.
std::vector<int64_t> one_for_each(const Site&, const std::string& option, const std::vector<int64_t>& given, size_t n,
                                  int64_t least);

// The value of an index as a number of this type.
Expr number(Type, const Expr& index);

std::vector<Expr> exprs(const std::vector<Var>&);

// The points that a reduction over some axes of a tensor joins into one.
class Reduced {
 public:
  Reduced(const Tensor& x, std::vector<size_t> axes, bool keepdims);
  const std::vector<Expr>& shape() const { return shape_; }
  const std::vector<IterVar>& over() const { return over_; }
  // The subscripts of the input, from the variables of the result.
  std::vector<Expr> point(const std::vector<Var>& result) const;
  // The subscripts of the result that a point of the input goes into.
  std::vector<Expr> result(const std::vector<Var>& point) const;
  // How many points are joined.
  Expr count() const;

 private:
  size_t rank_;
  std::vector<size_t> axes_;
  bool keepdims_;
  std::vector<Expr> shape_;
  std::vector<IterVar> over_;
};

}  // namespace tw::te::ops
