// Running sums and products along an axis. Shape stays. Errors: kExpr for the axis, kDType for dtypes.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct CumulativeOptions {
  int64_t axis = -1;
  bool exclusive = false;  // each element is of those before it only; the first is 0 (1)
  bool reverse = false;    // from the end
  std::string dtype = {};  // what is added up in, and the result
  std::string name = {};   // empty: that of the operator
  void fields(auto&& f) {
    f("axis", axis), f("exclusive", exclusive), f("reverse", reverse), f("dtype", dtype), f("name", name);
  }
};

// out[i] = x[0] + ... + x[i] along the axis, in this order. Of integers and bool in int64 (uint64 stays) where no dtype
// is given, as in NumPy and PyTorch. Halves are added up in float32 and rounded once.
Tensor cumsum(const Tensor& x, CumulativeOptions = {}, SourceLine where = std::source_location::current());
Tensor cumprod(const Tensor& x, CumulativeOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
