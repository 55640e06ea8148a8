// The product of matrices that matmul, dense and quantized_dense share.
#pragma once

#include "te/ops/products.h"
#include "tensorwright/ops/matmul.h"

namespace tw::te::ops {

struct Product {
  const Tensor &a, &b;
  bool transpose_a = false, transpose_b = false;
};

// a and b of at least 2 dimensions, called so in errors; what else does not fit is refused.
Tensor multiply(const Product&, const std::string& a_name, const std::string& b_name, const Epilogue&);

}  // namespace tw::te::ops
