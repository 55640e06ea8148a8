// Activations: functions of single values, elementwise; shape and dtype stay. NaN stays NaN. Halves are calculated with
// in float32 and rounded once. Errors: kDType where x is not of floats (relu and clip take integers too), kArgument for
// options. An empty `name` is that of the operator.
#pragma once

#include <limits>

#include "tensorwright/ops/number.h"
#include "tensorwright/te.h"

namespace tw::te::ops {

struct ActivationOptions {
  std::string name = {};
  void fields(auto&& f) { f("name", name); }
};

// max(x, 0)
Tensor relu(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
// 1 / (1 + exp(-x))
Tensor sigmoid(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
Tensor tanh(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
// x * sigmoid(x)
Tensor silu(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
// x * tanh(log(1 + exp(x)))
Tensor mish(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
// min(max(x + 3, 0), 6) / 6
Tensor hardsigmoid(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());
// x * hardsigmoid(x)
Tensor hardswish(const Tensor& x, ActivationOptions = {}, SourceLine where = std::source_location::current());

struct GeluOptions {
  std::string approximate = "none";  // or "tanh"
  std::string name = "gelu";
  void fields(auto&& f) { f("approximate", approximate), f("name", name); }
};
// x * (1 + erf(x / sqrt(2))) / 2; by tanh x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
Tensor gelu(const Tensor& x, GeluOptions = {}, SourceLine where = std::source_location::current());

struct LeakyReluOptions {
  double slope = 0.01;
  std::string name = "leaky_relu";
  void fields(auto&& f) { f("slope", slope), f("name", name); }
};
// x where x > 0, else slope * x
Tensor leaky_relu(const Tensor& x, LeakyReluOptions = {}, SourceLine where = std::source_location::current());

struct EluOptions {
  double alpha = 1;
  std::string name = "elu";
  void fields(auto&& f) { f("alpha", alpha), f("name", name); }
};
// x where x > 0, else alpha * (exp(x) - 1)
Tensor elu(const Tensor& x, EluOptions = {}, SourceLine where = std::source_location::current());

struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;  // where beta * x is larger, the result is x
  std::string name = "softplus";
  void fields(auto&& f) { f("beta", beta), f("threshold", threshold), f("name", name); }
};
// log(1 + exp(beta * x)) / beta
Tensor softplus(const Tensor& x, SoftplusOptions = {}, SourceLine where = std::source_location::current());

struct PreluOptions {
  int64_t axis = 1;  // of x, whose extent `slope` has
  std::string name = "prelu";
  void fields(auto&& f) { f("axis", axis), f("name", name); }
};
// x where x > 0, else slope[c] * x. slope is a vector over one axis of x, or one number [1], of x's dtype.
Tensor prelu(const Tensor& x, const Tensor& slope, PreluOptions = {},
             SourceLine where = std::source_location::current());

struct ClipOptions {
  Number lowest = -std::numeric_limits<Number>::infinity();
  Number highest = std::numeric_limits<Number>::infinity();
  std::string name = "clip";
  void fields(auto&& f) { f("lowest", lowest), f("highest", highest), f("name", name); }
};
// min(max(x, lowest), highest), of any numbers
Tensor clip(const Tensor& x, ClipOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
