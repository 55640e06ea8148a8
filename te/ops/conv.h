// The convolution that the forms of it share, and the pieces that it is made of.
#pragma once

#include "te/ops/products.h"
#include "te/ops/window.h"
#include "tensorwright/ops/conv.h"

namespace tw::te::ops {

std::vector<Expr> spatial_extents(const Tensor& x, const Layout&);
std::vector<int64_t> window_extents(const Site&, const Tensor& w, size_t first, size_t spatial);
std::vector<IterVar> window_axes(const Site&, const Window&);  // ky, kx
// Where the elements of a result's window lie in the padded data.
std::vector<Expr> places(const Window&, const Layout&, const std::vector<Var>& result,
                         const std::vector<IterVar>& elements);

struct Convolution {
  Layout layout;
  Window window;
  int64_t groups = 1;
  int64_t padding_value = 0;
  Epilogue epilogue;
};
// x and w of the right ranks; what else does not fit is refused.
Tensor convolve(const Convolution&, const Tensor& x, const Tensor& w);

}  // namespace tw::te::ops
