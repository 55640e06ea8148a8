// Activations of single values, for the epilogues of other operators: activation.cc makes operators of the same
// functions.
#pragma once

#include <string>

#include "te/ops/site.h"

namespace tw::te::ops {

// By name: "none", "relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "mish", "softplus", "hardswish",
// "hardsigmoid", "elu", "leaky_relu", with the parameters that PyTorch has as defaults. Halves are calculated with in
// float32. An unknown name throws; `x` must be a float where the name is not "none" or "relu".
Expr activate(const Site&, const std::string& name, const Expr& x);

}  // namespace tw::te::ops
