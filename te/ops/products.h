// What operators that add up products have in common: the dtypes of their sums, and what happens to a finished sum.
#pragma once

#include <functional>
#include <string>

#include "te/ops/site.h"

namespace tw::te::ops {

void check_tf32(const Site&, const std::string& name, const Tensor& factor);

// What products of the two are added up in: float32 or wider for floats, int32 or wider for integers. Throws kDType
// where one is a float and the other is none.
Type accumulator(const Site&, const std::string& a_name, const Tensor& a, const std::string& b_name, const Tensor& b);

// A wider `out_dtype` of the same kind is added up in; "" makes the sums the result.
struct Sums {
  Type accumulator, out;
  bool tf32 = false;  // both factors are rounded by te.tf32
};
Sums sums(const Site&, Type accumulator, const std::string& out_dtype);

// Of products of the two, as an operator's options say. Throws kDType for tf32 of others than float32.
template <class Options>
Sums sums_of(const Site& site, const std::string& a_name, const Tensor& a, const std::string& b_name, const Tensor& b,
             const Options& options) {
  Sums result = sums(site, accumulator(site, a_name, a, b_name, b), options.out_dtype);
  result.tf32 = options.tf32;
  if (options.tf32) check_tf32(site, a_name, a), check_tf32(site, b_name, b);
  return result;
}

// The product of two elements, in the dtype of the sum.
Expr product(const Sums&, Expr a, Expr b);

// activation(sum + bias), converted: one stage behind the sums, or none where there is nothing to do.
struct Epilogue {
  Site site;
  Sums dtypes;
  Tensor bias;
  std::string activation;
  std::string name;  // of the result

  // Checks the bias (a vector of `channels`) and the name of the activation.
  void check(const Expr& channels) const;
  bool activates() const { return !activation.empty() && activation != "none"; }
  bool empty() const { return !bias && !activates() && dtypes.accumulator == dtypes.out; }
  std::string name_of_sums() const { return empty() ? name : name + "_sum"; }
  // `channel` gives the place in `bias` from the subscripts of the result.
  Tensor apply(const Tensor& sums, const std::vector<std::string>& axes,
               const std::function<Expr(const std::vector<Var>&)>& channel) const;
};

}  // namespace tw::te::ops
