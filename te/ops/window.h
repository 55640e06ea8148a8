// Where the windows of convolutions lie over data: layouts, strides, padding, dilation. pool_windows.h has those of
// pooling.
#pragma once

#include <string>
#include <vector>

#include "te/ops/site.h"

namespace tw::te::ops {

// Where the dimensions of the data stand: NHWC, NCHW or NCHWc with one to three spatial dimensions.
struct Layout {
  enum class Channels { kLast, kFirst, kBlocked };
  Channels channels = Channels::kLast;
  size_t spatial = 2;  // how many

  size_t rank() const { return spatial + (blocked() ? 3 : 2); }
  size_t first_spatial() const { return last() ? 1 : 2; }
  bool last() const { return channels == Channels::kLast; }
  bool first() const { return channels == Channels::kFirst; }
  bool blocked() const { return channels == Channels::kBlocked; }
  // A subscript for each dimension of the data: from the batch, the spatial places and the channels (block, lane).
  std::vector<Expr> at(Expr batch, const std::vector<Expr>& places, std::vector<Expr> channel) const;
};

// "" is channels last. Throws kArgument for a layout that is none of `spatial` dimensions.
Layout layout_named(const Site&, const std::string& name, size_t spatial);

// The options as the user gives them.
struct WindowOptions {
  std::vector<int64_t> stride, padding, dilation;
};

// One number for each spatial dimension.
struct Window {
  std::vector<int64_t> extent, stride, dilation, before, behind;

  size_t rank() const { return extent.size(); }
  int64_t reach(size_t d) const { return dilation[d] * (extent[d] - 1) + 1; }  // from the first to the last element
  bool padded() const;
  // Where the window of a result starts and which element of it is read: y * stride + k * dilation.
  Expr place(size_t d, const Expr& result, const Expr& element) const;
  // The extents of the result over data of these extents. Throws where a window is larger than the padded data.
  std::vector<Expr> results(const Site&, const std::vector<Expr>& data) const;
};
Window window(const Site&, const std::vector<int64_t>& extent, const WindowOptions&);

// `names` of the spatial dimensions, outermost first: "x"; "y", "x"; "z", "y", "x".
std::vector<std::string> spatial_names(size_t spatial, const std::string& prefix = "");

std::vector<std::string> axis_names(const Layout&);  // n, y, x, c

// The data with `value` around it, a stage called `name`; x itself where there is nothing to pad.
Tensor padded(const Site&, const Tensor& x, const Layout&, const Window&, const Expr& value, const std::string& name);

}  // namespace tw::te::ops
