// The rows of the table of kernels, one function for each family.
#pragma once

#include "tensorwright/ops/kernels.h"

namespace tw::te::ops {

std::vector<StockKernel> product_kernels();      // kernels_products.cc: matmul, dense, their quantized forms
std::vector<StockKernel> convolution_kernels();  // kernels_conv.cc
std::vector<StockKernel> nn_kernels();           // kernels_nn.cc: rows, windows, values
std::vector<StockKernel> shape_kernels();        // kernels_shape.cc: reductions, moves of elements

}  // namespace tw::te::ops
