// Softmax along an axis. Shape and dtype stay. The largest is taken off first, so nothing overflows. NaN or +inf
// anywhere, and -inf everywhere, along the axis make its values NaN, as in PyTorch. Halves are calculated with in
// float32 and rounded once. Errors: kDType where x is not of floats, kExpr for the axis.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = {};  // empty: that of the operator
  void fields(auto&& f) { f("axis", axis), f("name", name); }
};

// exp(x) / sum(exp(x)) along the axis
Tensor softmax(const Tensor& x, SoftmaxOptions = {}, SourceLine where = std::source_location::current());
// x - log(sum(exp(x))) along the axis
Tensor log_softmax(const Tensor& x, SoftmaxOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
