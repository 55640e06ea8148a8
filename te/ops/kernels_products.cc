// matmul, dense and their quantized forms by name.
#include "te/ops/kernels.h"
#include "tensorwright/ops/matmul.h"
#include "tensorwright/ops/quantized.h"

namespace tw::te::ops {
namespace {

// clang-format off: a table
const Parameter kM{"M", "rows of the result"}, kN{"N", "columns of the result"}, kK{"K", "what is added up"},
    kBatch{"batch", "batch dimensions, as 12 or 2x12"},
    kDtype{"dtype", "of the operands", "float32"}, kWeightDtype{"w_dtype", "of the second operand; same: dtype", "same"},
    kOut{"out_dtype", "of the result; sum: what is added up in", "sum"},
    kTF32{"tf32", "factors of float32 are rounded to 11 bits", "false"},
    kTransposeA{"transpose_a", "the first operand is K x M", "false"}, kTransposeB{"transpose_b", "the second is N x K", "false"},
    kParam{"param", "the second operand is a weight, which may be packed ahead", "false"},
    kBias{"bias", "adds a bias to each column", "false"}, kActivation{"activation", "relu, gelu, ...", "none"};
// clang-format on

std::string out_dtype(const Values& v) { return v.text("out_dtype") == "sum" ? "" : v.text("out_dtype"); }

std::string second_dtype(const Values& v) { return v.text(v.text("w_dtype") == "same" ? "dtype" : "w_dtype"); }

std::vector<Expr> shape_of(std::vector<Expr> batch, bool transposed, Expr rows, Expr columns) {
  if (transposed) std::swap(rows, columns);
  batch.insert(batch.end(), {rows, columns});
  return batch;
}

std::vector<Tensor> product(const Values& v, const std::vector<int64_t>& dimensions) {
  const Expr m = v.size("M"), n = v.size("N"), k = v.size("K");
  const MatmulOptions options{v.flag("transpose_a"), v.flag("transpose_b"), out_dtype(v), v.flag("tf32")};
  const std::vector<Expr> batch(dimensions.begin(), dimensions.end());
  const Tensor a = placeholder(shape_of(batch, options.transpose_a, m, k), v.text("dtype"), "A");
  const Tensor b = placeholder(shape_of(batch, options.transpose_b, k, n), second_dtype(v), "B",
                               Placeholder{.param = v.flag("param")});
  return {a, b, matmul(a, b, options)};
}

std::vector<Tensor> layer(const Values& v) {
  const Expr m = v.size("M"), n = v.extent("N"), k = v.extent("K");
  DenseOptions options{.transpose_w = v.flag("transpose_b"),
                       .activation = v.text("activation"),
                       .out_dtype = out_dtype(v),
                       .tf32 = v.flag("tf32")};
  const Tensor x = placeholder({m, k}, v.text("dtype"), "X");
  const Tensor w =
      placeholder(shape_of({}, options.transpose_w, k, n), second_dtype(v), "W", Placeholder{.param = v.flag("param")});
  std::vector<Tensor> args{x, w};
  if (v.flag("bias")) {
    const bool floats = x.dtype().is_float() || x.dtype().is_float8();
    options.bias = placeholder({n}, floats ? "float32" : "int32", "bias");
    args.push_back(options.bias);
  }
  args.push_back(dense(x, w, options));
  return args;
}

std::vector<Tensor> quantized_layer(const Values& v) {
  const Expr m = v.size("M"), n = v.extent("N"), k = v.extent("K");
  const Tensor x = placeholder({m, k}, v.text("dtype"), "X");
  const Tensor w = placeholder({k, n}, v.text("w_dtype"), "W", Placeholder{.param = v.flag("param")});
  const Tensor scales = placeholder({n}, "float32", "w_scale"), bias = placeholder({n}, "int32", "bias");
  QuantizedDenseOptions options;
  options.x_scale = v.number("x_scale"), options.x_zero_point = v.integer("x_zero_point");
  options.w_scale = scales, options.bias = bias, options.activation = v.text("activation");
  options.out_scale = v.number("out_scale"), options.out_zero_point = v.integer("out_zero_point");
  options.out_dtype = v.text("out_dtype");
  return {x, w, scales, bias, quantized_dense(x, w, options)};
}

}  // namespace

std::vector<StockKernel> product_kernels() {
  return {{"matmul",
           "A [M, K] @ B [K, N]",
           {kM, kN, kK, kDtype, kWeightDtype, kOut, kTF32, kTransposeA, kTransposeB, kParam},
           [](const Values& v) { return product(v, {}); }},
          {"batch_matmul",
           "A [batch, M, K] @ B [batch, K, N]",
           {kBatch, kM, kN, kK, kDtype, kWeightDtype, kOut, kTF32, kTransposeA, kTransposeB, kParam},
           [](const Values& v) { return product(v, v.list("batch")); }},
          {"dense",
           "activation(X [M, K] @ W [K, N] + bias [N])",
           {kM, kN, kK, kDtype, kWeightDtype, kOut, kTF32, kTransposeB, kParam, kBias, kActivation},
           &layer},
          {"quantized_dense",
           "X [M, K] @ W [K, N] of bytes, bias [N], scales [N]",
           {kM,
            kN,
            kK,
            {"dtype", "of X", "uint8"},
            {"w_dtype", "of W", "int8"},
            {"out_dtype", "of the result", "float32"},
            {"param", kParam.meaning, "true"},
            {"x_scale", "of X", "1"},
            {"x_zero_point", "of X", "0"},
            {"out_scale", "of a result of integers", "1"},
            {"out_zero_point", "of a result of integers", "0"},
            kActivation},
           &quantized_layer}};
}

}  // namespace tw::te::ops
