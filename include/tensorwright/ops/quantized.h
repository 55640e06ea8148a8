// Operators on quantized numbers: an integer q stands for (q - zero_point) * scale.
//
// Scales are positive numbers or float32 tensors of one for each channel; zero points are integers of the quantized
// dtype or int32 tensors of one for each channel. Errors: kExpr for shapes, kDType, kArgument for options.
#pragma once

#include <variant>

#include "tensorwright/te.h"

namespace tw::te::ops {

using Scale = std::variant<double, Tensor>;
using ZeroPoint = std::variant<int64_t, Tensor>;

struct QuantizeOptions {
  Scale scale = 1.0;
  ZeroPoint zero_point = int64_t{0};
  int64_t axis = -1;           // of the channels, from either end
  std::string dtype = "int8";  // int8, uint8, int16, uint16 or int32
  std::string name = "quantize";
  void fields(auto&& f) {
    f("scale", scale), f("zero_point", zero_point), f("axis", axis), f("dtype", dtype), f("name", name);
  }
};

// out[...] = round(x[...] / scale) + zero_point, of `dtype`: ties to even, what lies outside becomes the nearest
// end, NaN becomes 0. x: floats, calculated with in float32.
Tensor quantize(const Tensor& x, QuantizeOptions = {}, SourceLine where = std::source_location::current());

struct DequantizeOptions {
  Scale scale = 1.0;
  ZeroPoint zero_point = int64_t{0};
  int64_t axis = -1;
  std::string dtype = "float32";  // of floats
  std::string name = "dequantize";
  void fields(auto&& f) {
    f("scale", scale), f("zero_point", zero_point), f("axis", axis), f("dtype", dtype), f("name", name);
  }
};

// out[...] = (x[...] - zero_point) * scale. x: integers of at most 32 bits.
Tensor dequantize(const Tensor& x, DequantizeOptions = {}, SourceLine where = std::source_location::current());

// What becomes of sums of quantized products. The result by `out_dtype`:
//   int32             acc = sum of (x - x_zero_point) * (w - w_zero_point) + bias, wrapping
//   float32, ...      real = activation(acc * (x_scale * w_scale))
//   int8, uint8, ...  round(real / out_scale) + out_zero_point, as of quantize
struct Requantize {
  double x_scale = 1;
  int64_t x_zero_point = 0;
  Scale w_scale = 1.0;  // for all, or one for each channel of the result
  ZeroPoint w_zero_point = int64_t{0};
  Tensor bias = {};             // int32, in units of x_scale * w_scale
  std::string activation = {};  // not with int32
  double out_scale = 1;
  int64_t out_zero_point = 0;
  std::string out_dtype = "float32";
  void fields(auto&& f) {
    f("x_scale", x_scale), f("x_zero_point", x_zero_point), f("w_scale", w_scale), f("w_zero_point", w_zero_point),
        f("bias", bias), f("activation", activation), f("out_scale", out_scale), f("out_zero_point", out_zero_point),
        f("out_dtype", out_dtype);
  }
};

struct QuantizedDenseOptions : Requantize {
  bool transpose_w = false;
  std::string name = "quantized_dense";
  void fields(auto&& f) { Requantize::fields(f), f("transpose_w", transpose_w), f("name", name); }
};

// dense of int8 or uint8 x [..., K] and w [K, N]. The product itself is of x and w as they are (what instructions for
// bytes take); x_zero_point is taken off at the end, by the sums of the weights' columns.
Tensor quantized_dense(const Tensor& x, const Tensor& w, QuantizedDenseOptions = {},
                       SourceLine where = std::source_location::current());

struct QuantizedConvOptions : Requantize {
  std::vector<int64_t> stride = {1};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  int64_t groups = 1;
  std::string layout = {};
  std::string name = "quantized_conv";
  void fields(auto&& f) {
    Requantize::fields(f);
    f("stride", stride), f("padding", padding), f("dilation", dilation), f("groups", groups), f("layout", layout),
        f("name", name);
  }
};

// conv2d of int8 or uint8 x and w, in the layouts of conv.h that are not blocked; the padding holds x_zero_point, a 0.
Tensor quantized_conv2d(const Tensor& x, const Tensor& w, QuantizedConvOptions = {},
                        SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
