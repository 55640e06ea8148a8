// Products of matrices as tensor expressions.
//
// Dtypes of all of them: floats with floats or integers with integers. float16, bfloat16 and float8 are added up in
// float32, integers of at most 32 bits in int32 (wrapping), 64 bits in int64; `out_dtype` (default: what is added up
// in) is converted to once, at the end. With `tf32` factors, of float32, are rounded to 11 bits (te.tf32): tensor cores
// multiply such. Errors: kExpr for shapes, kDType for dtypes, kArgument for options.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct MatmulOptions {
  bool transpose_a = false;  // a is [..., K, M]
  bool transpose_b = false;  // b is [..., N, K]
  std::string out_dtype = {};
  bool tf32 = false;  // both factors are rounded
  std::string name = "matmul";
  void fields(auto&& f) {
    f("transpose_a", transpose_a), f("transpose_b", transpose_b), f("out_dtype", out_dtype), f("tf32", tf32),
        f("name", name);
  }
};

// out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]: a [..., M, K], b [..., K, N], out [..., M, N]. The
// dimensions before the last two are a batch; of 1, or missing in front, they are repeated as in NumPy.
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions = {}, SourceLine where = std::source_location::current());

struct DenseOptions {
  bool transpose_w = false;     // w is [N, K], as PyTorch keeps it
  Tensor bias = {};             // [N]
  std::string activation = {};  // relu, gelu, ...: see activation.h
  std::string out_dtype = {};
  bool tf32 = false;
  std::string name = "dense";
  void fields(auto&& f) {
    f("transpose_w", transpose_w), f("bias", bias), f("activation", activation), f("out_dtype", out_dtype),
        f("tf32", tf32), f("name", name);
  }
};

// out[..., j] = activation(sum over k of x[..., k] * w[k, j] + bias[j]): x [..., K], w [K, N], out [..., N].
Tensor dense(const Tensor& x, const Tensor& w, DenseOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
