// The windows of pooling: rounded up where asked, with axes that may stand anywhere. window.h has those of
// convolutions.
#pragma once

#include <string>
#include <vector>

#include "te/ops/axes.h"
#include "te/ops/sides.h"

namespace tw::te::ops {

// Windows along one dimension: number i covers i * stride - before + k * dilation for 0 <= k < kernel.
struct Windows {
  int64_t extent, kernel, stride, dilation, before, behind;
  int64_t count;

  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  // Elements beyond the data that the last window reads.
  int64_t beyond() const { return (count - 1) * stride - before + reach() - extent; }
};

struct PoolWindowOptions {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

// The spatial dimensions of x by its layout, "" with channels last. `spatial` is their number; 0: what the rank says.
std::vector<size_t> spatial_dimensions(const Site&, const Tensor& x, const std::string& layout, size_t spatial);
// The windows along each spatial dimension.
std::vector<Windows> windows_of(const Site&, const Tensor& x, const std::vector<size_t>& dimensions,
                                const PoolWindowOptions&);

// x with as much of `value` around it as the windows reach beyond; x itself where they stay inside.
Tensor padded(const Site&, const Tensor& x, const std::vector<size_t>& dimensions, const std::vector<Windows>&,
              const Expr& value, const std::string& name);

}  // namespace tw::te::ops
