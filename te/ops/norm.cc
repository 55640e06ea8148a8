// Normalisations: (x - mean) / sqrt(variance + epsilon) * gamma + beta, which differ in what they take mean and
// variance over. Two passes: the mean, then the mean of the squared distances from it. Halves are calculated with in
// float32 and rounded once. gamma and beta may be left out.
//
//   layer_norm     over the last `dimensions` axes; gamma and beta of their shape
//   rms_norm       the same without mean and beta: x / sqrt(mean(x^2) + epsilon) * gamma
//   batch_norm     over all axes but the channels; mean and variance given (inference), or of this batch (training)
//   group_norm     over the axes behind the batch, of `groups` parts of the channels each; gamma and beta per channel
//   instance_norm  group_norm with as many groups as channels
#include "tensorwright/ops/norm.h"

#include <cmath>
#include <numeric>

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

void expect_epsilon(const Site& site, double epsilon) {
  if (!(epsilon >= 0) || std::isinf(epsilon))
    site.refuse(ErrorKind::kArgument, "epsilon must be a finite number from 0 on, not " + std::to_string(epsilon));
}

Expr wide(const Expr& e) { return convert(accumulator(e.type()), e); }

// gamma and beta at a place, each where it is given.
Expr scaled(Expr value, const Tensor& gamma, const Tensor& beta, const std::vector<Expr>& at) {
  if (gamma) value = value * wide(gamma(at));
  if (beta) value = value + wide(beta(at));
  return value;
}

void expect_scales(const Site& site, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                   const std::vector<Expr>& shape) {
  for (const auto& [argument, t] : {std::pair("gamma", &gamma), std::pair("beta", &beta)}) {
    if (!*t) continue;
    expect_float(site, argument, *t);
    bool fits = t->rank() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = same_extent(t->shape()[d], shape[d]);
    if (!fits)
      site.refuse(ErrorKind::kExpr,
                  std::string(argument) + " must have shape " + shape_text(shape) + ", not " + shape_text(t->shape()),
                  {describe("x", x)});
  }
}

// mean and 1 / sqrt(variance + epsilon) of the points that are joined, by two passes.
struct Moments {
  Tensor mean, variance, factor;

  Moments(const Site& site, const Tensor& x, const std::vector<Expr>& shape, const std::vector<IterVar>& over,
          const std::function<std::vector<Expr>(const std::vector<Var>&)>& point, const Expr& count, double epsilon,
          const std::string& name) {
    const auto stage = [&](const char* suffix, const std::function<Expr(const std::vector<Var>&)>& body) {
      return compute(shape, body, name + suffix, {}, site.where);
    };
    const Tensor total = stage("_sum", [&](const std::vector<Var>& i) { return te::sum(wide(x(point(i))), over); });
    mean = stage("_mean", [&](const std::vector<Var>& i) {
      return divide(total(exprs(i)), number(accumulator(x.dtype()), count));
    });
    const Tensor squares = stage("_squares", [&](const std::vector<Var>& i) {
      const Expr distance = wide(x(point(i))) - mean(exprs(i));
      return te::sum(distance * distance, over);
    });
    variance = stage("_var", [&](const std::vector<Var>& i) {
      return divide(squares(exprs(i)), number(accumulator(x.dtype()), count));
    });
    factor = stage("_factor", [&](const std::vector<Var>& i) {
      return rsqrt(variance(exprs(i)) + ir::imm(variance.dtype(), epsilon));
    });
  }
};

std::vector<size_t> last(const Site& site, const Tensor& x, int64_t dimensions) {
  const auto rank = static_cast<int64_t>(x.rank());
  if (dimensions < 1 || dimensions > rank)
    site.refuse(ErrorKind::kArgument,
                "dimensions must lie in 1.." + std::to_string(rank) + ", not " + std::to_string(dimensions),
                {describe("x", x), "so many of the last axes are normalised over"});
  std::vector<size_t> axes(static_cast<size_t>(dimensions));
  std::iota(axes.begin(), axes.end(), x.rank() - axes.size());
  return axes;
}

template <class T>
std::vector<Expr> picked(const std::vector<T>& all, const std::vector<size_t>& axes) {
  std::vector<Expr> some;
  for (const size_t d : axes) some.push_back(all[d]);
  return some;
}

std::vector<size_t> all_but(size_t rank, size_t axis) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < rank; ++d)
    if (d != axis) axes.push_back(d);
  return axes;
}

// Channels at which gamma and beta are read.
Tensor per_channel(const Tensor& x, size_t channel, const Tensor& mean, const Tensor& factor, const Tensor& gamma,
                   const Tensor& beta, const std::string& name, const SourceLine& where) {
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr c = i[channel];
        return convert(x.dtype(), scaled((wide(x(exprs(i))) - mean(c)) * factor(c), gamma, beta, {c}));
      },
      name, {}, where);
}

}  // namespace

Tensor layer_norm(const Tensor& x, LayerNormOptions options, SourceLine where) {
  const Site site{"layer_norm", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const std::vector<size_t> axes = last(site, x, options.dimensions);
  expect_scales(site, x, options.gamma, options.beta, picked(x.shape(), axes));
  const Reduced row(x, axes, false);
  const auto point = [&](const std::vector<Var>& i) { return row.point(i); };
  const Moments m(site, x, row.shape(), row.over(), point, row.count(), options.epsilon, options.name);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr distance = wide(x(exprs(i))) - m.mean(row.result(i));
        return convert(x.dtype(),
                       scaled(distance * m.factor(row.result(i)), options.gamma, options.beta, picked(i, axes)));
      },
      options.name, {}, where);
}

Tensor rms_norm(const Tensor& x, RmsNormOptions options, SourceLine where) {
  const Site site{"rms_norm", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const std::vector<size_t> axes = last(site, x, options.dimensions);
  expect_scales(site, x, options.gamma, {}, picked(x.shape(), axes));
  const Reduced row(x, axes, false);
  const Tensor squares = compute(
      row.shape(),
      [&](const std::vector<Var>& i) {
        const Expr value = wide(x(row.point(i)));
        return te::sum(value * value, row.over());
      },
      options.name + "_squares", {}, where);
  const Tensor factor = compute(
      row.shape(),
      [&](const std::vector<Var>& i) {
        return rsqrt(divide(squares(exprs(i)), number(accumulator(x.dtype()), row.count())) +
                     ir::imm(squares.dtype(), options.epsilon));
      },
      options.name + "_factor", {}, where);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr value = wide(x(exprs(i))) * factor(row.result(i));
        return convert(x.dtype(), scaled(value, options.gamma, {}, picked(i, axes)));
      },
      options.name, {}, where);
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, BatchNormOptions options,
                  SourceLine where) {
  if (options.name.empty()) options.name = "batch_norm";
  const Site site{"batch_norm", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const size_t channel = axis_of(site, x.rank(), options.axis);
  expect_float(site, "mean", mean);
  expect_vector_of(site, "mean", mean, x, channel);
  expect_float(site, "variance", variance);
  expect_vector_of(site, "variance", variance, x, channel);
  expect_scales(site, x, options.gamma, options.beta, {x.shape()[channel]});
  const Tensor factor = compute(
      variance.shape(),
      [&](const std::vector<Var>& c) {
        const Expr v = wide(variance(exprs(c)));
        return rsqrt(v + ir::imm(v.type(), options.epsilon));
      },
      options.name + "_factor", {}, where);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr c = i[channel];
        const Expr distance = wide(x(exprs(i))) - wide(mean(c));
        return convert(x.dtype(), scaled(distance * factor(c), options.gamma, options.beta, {c}));
      },
      options.name, {}, where);
}

std::vector<Tensor> batch_norm_training(const Tensor& x, BatchNormOptions options, SourceLine where) {
  if (options.name.empty()) options.name = "batch_norm";
  const Site site{"batch_norm_training", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const size_t channel = axis_of(site, x.rank(), options.axis);
  if (x.rank() < 2) site.refuse(ErrorKind::kExpr, "x must have a batch besides its channels", {describe("x", x)});
  expect_scales(site, x, options.gamma, options.beta, {x.shape()[channel]});
  const Reduced batch(x, all_but(x.rank(), channel), false);
  const auto point = [&](const std::vector<Var>& i) { return batch.point(i); };
  const Moments m(site, x, batch.shape(), batch.over(), point, batch.count(), options.epsilon, options.name);
  const Tensor result = per_channel(x, channel, m.mean, m.factor, options.gamma, options.beta, options.name, where);
  return {result, m.mean, m.variance};
}

Tensor group_norm(const Tensor& x, GroupNormOptions options, SourceLine where) {
  const Site site{"group_norm", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const size_t channel = axis_of(site, x.rank(), options.axis);
  if (channel == 0) site.refuse(ErrorKind::kExpr, "axis must not be 0: that is the batch", {describe("x", x)});
  const int64_t channels = known_extent(site, "x", x, channel);
  if (options.groups < 1 || channels % options.groups != 0)
    site.refuse(
        ErrorKind::kArgument,
        "groups must divide the " + std::to_string(channels) + " channels, not be " + std::to_string(options.groups),
        {describe("x", x), "the channels are on axis " + std::to_string(channel)});
  expect_scales(site, x, options.gamma, options.beta, {x.shape()[channel]});
  const int64_t size = channels / options.groups;
  std::vector<IterVar> over;
  Expr count = 1;
  for (size_t d = 1; d < x.rank(); ++d) {
    over.push_back(reduce_axis(0, d == channel ? Expr(size) : x.shape()[d], "r" + std::to_string(d - 1)));
    count = count * over.back().extent;
  }
  const auto point = [&](const std::vector<Var>& i) {  // of batch and group
    std::vector<Expr> at = {i[0]};
    for (size_t d = 1; d < x.rank(); ++d)
      at.push_back(d == channel ? i[1] * Expr(size) + over[d - 1] : Expr(over[d - 1]));
    return at;
  };
  const Moments m(site, x, {x.shape()[0], options.groups}, over, point, ir::simplify(count), options.epsilon,
                  options.name);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> group = {i[0], ir::floordiv(i[channel], size)};
        const Expr distance = wide(x(exprs(i))) - m.mean(group);
        return convert(x.dtype(), scaled(distance * m.factor(group), options.gamma, options.beta, {i[channel]}));
      },
      options.name, {}, where);
}

Tensor instance_norm(const Tensor& x, BatchNormOptions options, SourceLine where) {
  if (options.name.empty()) options.name = "instance_norm";
  const Site site{"instance_norm", where};
  expect_float(site, "x", x);
  expect_epsilon(site, options.epsilon);
  const size_t channel = axis_of(site, x.rank(), options.axis);
  if (channel == 0 || x.rank() < 3)
    site.refuse(ErrorKind::kExpr, "x must have a batch, channels and at least one axis more", {describe("x", x)});
  expect_scales(site, x, options.gamma, options.beta, {x.shape()[channel]});
  std::vector<size_t> axes;
  for (size_t d = 1; d < x.rank(); ++d)
    if (d != channel) axes.push_back(d);
  const Reduced plane(x, axes, false);
  const auto point = [&](const std::vector<Var>& i) { return plane.point(i); };
  const Moments m(site, x, plane.shape(), plane.over(), point, plane.count(), options.epsilon, options.name);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr distance = wide(x(exprs(i))) - m.mean(plane.result(i));
        return convert(x.dtype(),
                       scaled(distance * m.factor(plane.result(i)), options.gamma, options.beta, {i[channel]}));
      },
      options.name, {}, where);
}

}  // namespace tw::te::ops
