// Convolutions as tensor expressions.
//
// Layouts, by the name of the data's dimensions (D and H go for one or two spatial dimensions):
//   channels last    x [N, D, H, W, C]          w [KD, KH, KW, C / groups, O]                  out [N, D, H, W, O]
//   channels first   x [N, C, D, H, W]          w [O, C / groups, KD, KH, KW]                  out [N, O, D, H, W]
//   blocked NCHWc    x [N, C / c, H, W, c]      w [O / o, C / groups / c, KH, KW, c, o]        out [N, O / o, H, W, o]
// `stride` and `dilation` are one number, or one for each spatial dimension; `padding` also two for each: all numbers
// before the data, then all behind. Dtypes as in matmul.h. Errors: kExpr for shapes, kDType, kArgument for options.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct ConvOptions {
  std::vector<int64_t> stride = {1};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  int64_t groups = 1;           // channels of the output read those of their group only
  std::string layout = {};      // NWC, NCW, NCWc; NHWC, NCHW, NCHWc; NDHWC, NCDHW; default: channels last
  Tensor bias = {};             // one for each channel of the output
  std::string activation = {};  // relu, gelu, ...: see activation.h
  std::string out_dtype = {};
  bool tf32 = false;  // as of MatmulOptions
  std::string name = "conv";
  void fields(auto&& f) {
    f("stride", stride), f("padding", padding), f("dilation", dilation), f("groups", groups), f("layout", layout),
        f("bias", bias), f("activation", activation), f("out_dtype", out_dtype), f("tf32", tf32), f("name", name);
  }
};

// out[n, y, x, o] = activation(bias[o] + sum over ky, kx, c of
//                              x[n, y * stride + ky * dilation - padding, ..., first(o) + c] * w[ky, kx, c, o])
// where reads in the padding are 0 and first(o) is the first channel of the group of o. The extent of y is
// (H + padding before and behind - dilation * (KH - 1) - 1) / stride + 1, rounded down.
Tensor conv1d(const Tensor& x, const Tensor& w, ConvOptions = {}, SourceLine where = std::source_location::current());
Tensor conv2d(const Tensor& x, const Tensor& w, ConvOptions = {}, SourceLine where = std::source_location::current());
Tensor conv3d(const Tensor& x, const Tensor& w, ConvOptions = {}, SourceLine where = std::source_location::current());

// Each channel by itself, C * M of them in the output, M from each: out[n, y, x, c * M + m] sums over ky, kx only.
// w is [KH, KW, C, M] where channels are last, and [C * M, 1, KH, KW] where they are first. `groups` must stay 1.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& w, ConvOptions = {},
                        SourceLine where = std::source_location::current());

struct TransposedConvOptions {
  std::vector<int64_t> stride = {1};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> output_padding = {0};  // of the result, behind it; less than stride or dilation
  std::vector<int64_t> dilation = {1};
  int64_t groups = 1;
  std::string layout = {};  // as of ConvOptions, but not blocked
  Tensor bias = {};
  std::string activation = {};
  std::string out_dtype = {};
  bool tf32 = false;
  std::string name = "conv_transpose";
  void fields(auto&& f) {
    f("stride", stride), f("padding", padding), f("output_padding", output_padding), f("dilation", dilation),
        f("groups", groups), f("layout", layout), f("bias", bias), f("activation", activation),
        f("out_dtype", out_dtype), f("tf32", tf32), f("name", name);
  }
};

// The gradient of a convolution for its data: x[n, y, x, c] * w[ky, kx, c, o] is added to
// out[n, y * stride + ky * dilation - padding, ..., o]. w is [KH, KW, C, O / groups] where channels are last and
// [C, O / groups, KH, KW], as PyTorch keeps it, where they are first. The height of the result is
// (H - 1) * stride - padding before and behind + dilation * (KH - 1) + output_padding + 1.
Tensor conv1d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions = {},
                        SourceLine where = std::source_location::current());
Tensor conv2d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions = {},
                        SourceLine where = std::source_location::current());
Tensor conv3d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions = {},
                        SourceLine where = std::source_location::current());

// conv2d as one product of matrices, of [N * OH * OW, KH * KW * C] windows with [KH * KW * C, O] weights. Channels
// last, groups = 1.
Tensor conv2d_im2col(const Tensor& x, const Tensor& w, ConvOptions = {},
                     SourceLine where = std::source_location::current());

struct WinogradOptions {
  int64_t tile = 2;  // results of a tile in each direction: F(2, 3) or F(4, 3)
  std::vector<int64_t> padding = {0};
  Tensor bias = {};
  std::string activation = {};
  std::string out_dtype = {};
  bool tf32 = false;  // as of MatmulOptions
  std::string name = "conv";
  void fields(auto&& f) {
    f("tile", tile), f("padding", padding), f("bias", bias), f("activation", activation), f("out_dtype", out_dtype),
        f("name", name);
  }
};

// conv2d of 3 x 3 windows, stride 1, channels last, of floats by Winograd's minimal filtering (Lavin and Gray, 2016):
// (tile + 2)^2 products of matrices instead of 9 * tile^2 multiplications for each tile. Rounding errors grow with the
// tile: about 2 x of conv2d's for tile 2, about 10 x for tile 4.
Tensor conv2d_winograd(const Tensor& x, const Tensor& w, WinogradOptions = {},
                       SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
