// The rows of the table of kernels, one function for each family.
#pragma once

#include "tensorwright/ops/kernels.h"

namespace tw::te::ops {

std::vector<Kernel> product_kernels();      // kernels_products.cc: matmul, dense, their quantized forms
std::vector<Kernel> convolution_kernels();  // kernels_conv.cc
std::vector<Kernel> nn_kernels();           // kernels_nn.cc: rows, windows, values
std::vector<Kernel> shape_kernels();        // kernels_shape.cc: reductions, moves of elements

}  // namespace tw::te::ops
