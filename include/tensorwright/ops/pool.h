// Pooling: each channel by itself, over windows of its spatial dimensions.
//
// Layouts by the names of the dimensions, channels last or first: NWC, NCW; NHWC, NCHW; NDHWC, NCDHW. `kernel`,
// `stride` and `dilation` are one number, or one for each spatial dimension; `padding` also two for each: all numbers
// before the data, then all behind. Along each dimension
//   windows = (extent + padding before and behind - dilation * (kernel - 1) - 1) / stride + 1
// rounded down, or up with `ceil_mode`, less a last window that would begin behind the data and the padding before it.
// Shapes are known numbers but for the batch and the channels. Errors: kExpr for shapes, kDType, kArgument for options.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct MaxPoolOptions {
  std::vector<int64_t> kernel = {};
  std::vector<int64_t> stride = {};  // empty: kernel
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  bool ceil_mode = false;
  std::string layout = {};  // empty: channels last
  std::string name = "max_pool";
  void fields(auto&& f) {
    f("kernel", kernel), f("stride", stride), f("padding", padding), f("dilation", dilation), f("ceil_mode", ceil_mode),
        f("layout", layout), f("name", name);
  }
};
// The largest number of each window. The padding is no part of it: every window must meet the data. NaN is the result
// where it is met.
Tensor max_pool1d(const Tensor& x, MaxPoolOptions, SourceLine where = std::source_location::current());
Tensor max_pool2d(const Tensor& x, MaxPoolOptions, SourceLine where = std::source_location::current());
Tensor max_pool3d(const Tensor& x, MaxPoolOptions, SourceLine where = std::source_location::current());

// The same with, as a second tensor of int64, the place of each result: its number in x among the elements of its batch
// and channel, the spatial dimensions in the order D, H, W. Of equal values, and of NaN, it is the first.
std::vector<Tensor> max_pool1d_indices(const Tensor& x, MaxPoolOptions,
                                       SourceLine where = std::source_location::current());
std::vector<Tensor> max_pool2d_indices(const Tensor& x, MaxPoolOptions,
                                       SourceLine where = std::source_location::current());
std::vector<Tensor> max_pool3d_indices(const Tensor& x, MaxPoolOptions,
                                       SourceLine where = std::source_location::current());

struct AvgPoolOptions {
  std::vector<int64_t> kernel = {};
  std::vector<int64_t> stride = {};  // empty: kernel
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  bool ceil_mode = false;
  bool count_include_pad = true;  // the padding counts as zeros; what `ceil_mode` adds beyond it never counts
  std::string layout = {};        // empty: channels last
  std::string name = "avg_pool";
  void fields(auto&& f) {
    f("kernel", kernel), f("stride", stride), f("padding", padding), f("dilation", dilation), f("ceil_mode", ceil_mode),
        f("count_include_pad", count_include_pad), f("layout", layout), f("name", name);
  }
};
// The mean of each window, of floats. Halves are added up in float32 and rounded once.
Tensor avg_pool1d(const Tensor& x, AvgPoolOptions, SourceLine where = std::source_location::current());
Tensor avg_pool2d(const Tensor& x, AvgPoolOptions, SourceLine where = std::source_location::current());
Tensor avg_pool3d(const Tensor& x, AvgPoolOptions, SourceLine where = std::source_location::current());

struct AdaptivePoolOptions {
  std::vector<int64_t> size = {1};  // windows along each spatial dimension: one number, or one for each
  std::string layout = {};          // empty: channels last
  std::string name = "adaptive_pool";
  void fields(auto&& f) { f("size", size), f("layout", layout), f("name", name); }
};
// Windows that cover all of the data: window i of `size` is floor(i * extent / size) .. ceil((i + 1) * extent / size).
// Of size 1 this is global pooling. x has 3, 4 or 5 dimensions.
Tensor adaptive_max_pool(const Tensor& x, AdaptivePoolOptions = {}, SourceLine where = std::source_location::current());
Tensor adaptive_avg_pool(const Tensor& x, AdaptivePoolOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
