// Stock operators in Python: all but products and convolutions.
#include "python/bind/ops.h"
#include "tensorwright/ops.h"

namespace py = pybind11;
namespace ops = tw::te::ops;

namespace tw::bind {
namespace {

void bind_values(py::module_& m) {
  define_op(m, "relu", &ops::relu);
  define_op(m, "sigmoid", &ops::sigmoid);
  define_op(m, "tanh", &ops::tanh);
  define_op(m, "silu", &ops::silu);
  define_op(m, "mish", &ops::mish);
  define_op(m, "hardsigmoid", &ops::hardsigmoid);
  define_op(m, "hardswish", &ops::hardswish);
  define_op(m, "gelu", &ops::gelu);
  define_op(m, "leaky_relu", &ops::leaky_relu);
  define_op(m, "elu", &ops::elu);
  define_op(m, "softplus", &ops::softplus);
  define_op(m, "prelu", &ops::prelu);
  define_op(m, "clip", &ops::clip);
}

void bind_rows(py::module_& m) {
  define_op(m, "softmax", &ops::softmax);
  define_op(m, "log_softmax", &ops::log_softmax);
  define_op(m, "layer_norm", &ops::layer_norm);
  define_op(m, "rms_norm", &ops::rms_norm);
  define_op(m, "batch_norm", &ops::batch_norm);
  define_op(m, "batch_norm_training", &ops::batch_norm_training);
  define_op(m, "group_norm", &ops::group_norm);
  define_op(m, "instance_norm", &ops::instance_norm);
  define_op(m, "attention", &ops::attention);
}

void bind_reductions(py::module_& m) {
  define_op(m, "sum", &ops::sum);
  define_op(m, "prod", &ops::prod);
  define_op(m, "mean", &ops::mean);
  define_op(m, "max", &ops::max);
  define_op(m, "min", &ops::min);
  define_op(m, "logsumexp", &ops::logsumexp);
  define_op(m, "var", &ops::variance);
  define_op(m, "std", &ops::standard_deviation);
  define_op(m, "argmax", &ops::argmax);
  define_op(m, "argmin", &ops::argmin);
  define_op(m, "cumsum", &ops::cumsum);
  define_op(m, "cumprod", &ops::cumprod);
}

void bind_windows(py::module_& m) {
  define_op(m, "max_pool1d", &ops::max_pool1d);
  define_op(m, "max_pool2d", &ops::max_pool2d);
  define_op(m, "max_pool3d", &ops::max_pool3d);
  define_op(m, "max_pool1d_indices", &ops::max_pool1d_indices);
  define_op(m, "max_pool2d_indices", &ops::max_pool2d_indices);
  define_op(m, "max_pool3d_indices", &ops::max_pool3d_indices);
  define_op(m, "avg_pool1d", &ops::avg_pool1d);
  define_op(m, "avg_pool2d", &ops::avg_pool2d);
  define_op(m, "avg_pool3d", &ops::avg_pool3d);
  define_op(m, "adaptive_max_pool", &ops::adaptive_max_pool);
  define_op(m, "adaptive_avg_pool", &ops::adaptive_avg_pool);
}

void bind_places(py::module_& m) {
  define_op(m, "transpose", &ops::transpose);
  define_op(m, "reshape", &ops::reshape);
  define_op(m, "broadcast_to", &ops::broadcast_to);
  define_op(m, "concat", &ops::concat);
  define_op(m, "stack", &ops::stack);
  define_op(m, "split", &ops::split);
  define_op(m, "strided_slice", &ops::strided_slice);
  define_op(m, "pad", &ops::pad);
  define_op(m, "where", &ops::where);
  define_op(m, "take", &ops::take);
  define_op(m, "gather", &ops::gather);
  define_op(m, "embedding", &ops::embedding);
  define_op(m, "one_hot", &ops::one_hot);
}

}  // namespace

void bind_ops_nn(py::module_& m) {
  bind_values(m);
  bind_rows(m);
  bind_reductions(m);
  bind_windows(m);
  bind_places(m);
}

}  // namespace tw::bind
