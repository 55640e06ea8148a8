// Normalisations: (x - mean) / sqrt(variance + epsilon) * gamma + beta, which differ in what mean and variance are
// taken over. The variance is the mean of squared distances from the mean, by a second pass. Shape and dtype of x stay.
// Halves are calculated with in float32 and rounded once. gamma and beta may be left out. Errors: kDType where a tensor
// is not of floats, kExpr for shapes and axes, kArgument for options.
#pragma once

#include "tensorwright/te.h"

namespace tw::te::ops {

struct LayerNormOptions {
  Tensor gamma = {}, beta = {};  // of the shape of the last `dimensions` axes
  int64_t dimensions = 1;
  double epsilon = 1e-5;
  std::string name = "layer_norm";
  void fields(auto&& f) {
    f("gamma", gamma), f("beta", beta), f("dimensions", dimensions), f("epsilon", epsilon), f("name", name);
  }
};
// Over the last axes.
Tensor layer_norm(const Tensor& x, LayerNormOptions = {}, SourceLine where = std::source_location::current());

struct RmsNormOptions {
  Tensor gamma = {};
  int64_t dimensions = 1;
  double epsilon = 1e-5;
  std::string name = "rms_norm";
  void fields(auto&& f) { f("gamma", gamma), f("dimensions", dimensions), f("epsilon", epsilon), f("name", name); }
};
// x / sqrt(mean(x^2) + epsilon) * gamma over the last axes.
Tensor rms_norm(const Tensor& x, RmsNormOptions = {}, SourceLine where = std::source_location::current());

struct BatchNormOptions {
  Tensor gamma = {}, beta = {};  // vectors over the channels
  int64_t axis = 1;              // the channels; -1 where they are last
  double epsilon = 1e-5;
  std::string name = {};  // empty: that of the operator
  void fields(auto&& f) { f("gamma", gamma), f("beta", beta), f("axis", axis), f("epsilon", epsilon), f("name", name); }
};
// With the mean and the variance of each channel given: inference.
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, BatchNormOptions = {},
                  SourceLine where = std::source_location::current());
// With those of this batch, over all axes but the channels. Gives the result, the means and the variances (of the
// batch, not corrected by n / (n - 1)), these two in float32 or wider.
std::vector<Tensor> batch_norm_training(const Tensor& x, BatchNormOptions = {},
                                        SourceLine where = std::source_location::current());
// Of each sample and channel, over all other axes.
Tensor instance_norm(const Tensor& x, BatchNormOptions = {}, SourceLine where = std::source_location::current());

struct GroupNormOptions {
  int64_t groups = 1;            // divides the channels
  Tensor gamma = {}, beta = {};  // vectors over the channels
  int64_t axis = 1;              // the channels
  double epsilon = 1e-5;
  std::string name = "group_norm";
  void fields(auto&& f) {
    f("groups", groups), f("gamma", gamma), f("beta", beta), f("axis", axis), f("epsilon", epsilon), f("name", name);
  }
};
// Of each sample and group of neighbouring channels, over all other axes.
Tensor group_norm(const Tensor& x, GroupNormOptions = {}, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
