// Activations: functions of single values, elementwise. NaN stays NaN. Halves are calculated with in float32 and
// rounded once.
//
//   relu         max(x, 0)                                   sigmoid      1 / (1 + exp(-x))
//   leaky_relu   x where x > 0, else slope * x               silu         x * sigmoid(x)
//   elu          x where x > 0, else alpha * (exp(x) - 1)    softplus     log(1 + exp(beta * x)) / beta
//   gelu         x * (1 + erf(x / sqrt(2))) / 2              mish         x * tanh(log(1 + exp(x)))
//   gelu "tanh"  x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
//   hardswish    x * min(max(x + 3, 0), 6) / 6               hardsigmoid  min(max(x + 3, 0), 6) / 6
#include "tensorwright/ops/activation.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "te/dtype.h"
#include "te/ops/activation.h"
#include "te/ops/axes.h"
#include "te/ops/exact.h"

namespace tw::te::ops {
namespace {

using Function = std::function<Expr(const Expr&)>;

Expr number(const Expr& like, double value) { return ir::imm(like.type(), value); }

// max(a, b) is b where one of them is NaN.
Expr at_least(const Expr& x, double bound) { return ir::max(number(x, bound), x); }
Expr at_most(const Expr& x, double bound) { return ir::min(number(x, bound), x); }

Expr relu_of(const Expr& x) { return at_least(x, 0); }
Expr leaky(const Expr& x, double slope) { return te::select(x > number(x, 0), x, x * number(x, slope)); }
Expr elu_of(const Expr& x, double alpha) { return te::select(x > number(x, 0), x, number(x, alpha) * expm1(x)); }
Expr silu_of(const Expr& x) { return x * te::sigmoid(x); }
Expr gelu_of(const Expr& x) {
  return x * number(x, 0.5) * (number(x, 1) + erf(x * number(x, std::numbers::sqrt2 / 2)));
}
Expr gelu_tanh(const Expr& x) {
  const Expr inner = x + number(x, 0.044715) * x * x * x;
  return x * number(x, 0.5) * (number(x, 1) + te::tanh(inner * number(x, std::sqrt(2 / std::numbers::pi))));
}
Expr softplus_of(const Expr& x, double beta, double threshold) {
  const Expr scaled = x * number(x, beta);
  return te::select(scaled > number(x, threshold), x, log1p(exp(scaled)) * number(x, 1 / beta));
}
// tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2): one exp in the place of three functions. Beyond 20 it is 1.
Expr mish_of(const Expr& x) {
  const Expr e = exp(x), n = e * (e + number(x, 2));
  return te::select(x > number(x, 20), x, x * divide(n, n + number(x, 2)));
}
Expr sixth(const Expr& x) { return at_most(at_least(x + number(x, 3), 0), 6) * number(x, 1.0 / 6); }

struct Named {
  const char* name;
  Expr (*function)(const Expr&);
};
const Named kActivations[] = {
    {"relu", relu_of},
    {"sigmoid", [](const Expr& x) { return te::sigmoid(x); }},
    {"tanh", [](const Expr& x) { return te::tanh(x); }},
    {"gelu", gelu_of},
    {"gelu_tanh", gelu_tanh},
    {"silu", silu_of},
    {"mish", mish_of},
    {"softplus", [](const Expr& x) { return softplus_of(x, 1, 20); }},
    {"hardswish", [](const Expr& x) { return x * sixth(x); }},
    {"hardsigmoid", sixth},
    {"elu", [](const Expr& x) { return elu_of(x, 1); }},
    {"leaky_relu", [](const Expr& x) { return leaky(x, 0.01); }},
};

// Halves are calculated with in float32 and rounded once.
Expr in_float(const Expr& x, const Function& f) { return convert(x.type(), f(convert(accumulator(x.type()), x))); }

Tensor elementwise(const Site& site, const Tensor& x, const std::string& name, const Function& f) {
  expect_float(site, "x", x);
  return compute(
      x.shape(), [&](const std::vector<Var>& i) { return in_float(x(exprs(i)), f); }, name.empty() ? site.op : name, {},
      site.where);
}

void expect_finite(const Site& site, const char* argument, double value) {
  if (!std::isfinite(value))
    site.refuse(ErrorKind::kArgument, std::string(argument) + " must be a finite number, not " + std::to_string(value));
}

// A bound in the type of x; what integers do not reach bounds nothing.
Expr bound_of(const Site& site, const Tensor& x, Number bound) {
  if (const auto held = exact(x.dtype(), bound)) return *held;
  if (bound != std::floor(bound))
    site.refuse(ErrorKind::kArgument, "the bounds must be integers as x is of them, not " + std::to_string(bound),
                {describe("x", x)});
  return bound > 0 ? ir::type_max(x.dtype()) : ir::type_min(x.dtype());
}

}  // namespace

Expr activate(const Site& site, const std::string& name, const Expr& x) {
  if (name.empty() || name == "none") return x;
  std::string known = "none";
  for (const Named& activation : kActivations) {
    known += std::string(", ") + activation.name;
    if (name != activation.name) continue;
    if (name == "relu" && !x.type().is_float()) return relu_of(x);
    if (!x.type().is_float())
      site.refuse(ErrorKind::kDType, "the activation " + name + " must be of a float, not of " + dtype_name(x.type()));
    return in_float(x, activation.function);
  }
  site.refuse(ErrorKind::kArgument, "activation must be one of a list, not \"" + name + "\"", {"there are " + known});
}

Tensor relu(const Tensor& x, ActivationOptions options, SourceLine where) {
  const Site site{"relu", std::move(where)};
  expect_number(site, "x", x);
  return compute(
      x.shape(), [&](const std::vector<Var>& i) { return relu_of(x(exprs(i))); },
      options.name.empty() ? site.op : options.name, {}, site.where);
}

Tensor sigmoid(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"sigmoid", std::move(where)}, x, options.name, [](const Expr& e) { return te::sigmoid(e); });
}

Tensor tanh(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"tanh", std::move(where)}, x, options.name, [](const Expr& e) { return te::tanh(e); });
}

Tensor silu(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"silu", std::move(where)}, x, options.name, silu_of);
}

Tensor mish(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"mish", std::move(where)}, x, options.name, mish_of);
}

Tensor hardsigmoid(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"hardsigmoid", std::move(where)}, x, options.name, sixth);
}

Tensor hardswish(const Tensor& x, ActivationOptions options, SourceLine where) {
  return elementwise({"hardswish", std::move(where)}, x, options.name, [](const Expr& e) { return e * sixth(e); });
}

Tensor gelu(const Tensor& x, GeluOptions options, SourceLine where) {
  const Site site{"gelu", std::move(where)};
  if (options.approximate != "none" && options.approximate != "tanh")
    site.refuse(ErrorKind::kArgument, "approximate must be \"none\" or \"tanh\", not \"" + options.approximate + "\"");
  return elementwise(site, x, options.name, options.approximate == "tanh" ? gelu_tanh : gelu_of);
}

Tensor leaky_relu(const Tensor& x, LeakyReluOptions options, SourceLine where) {
  const Site site{"leaky_relu", std::move(where)};
  expect_finite(site, "slope", options.slope);
  return elementwise(site, x, options.name, [&](const Expr& e) { return leaky(e, options.slope); });
}

Tensor elu(const Tensor& x, EluOptions options, SourceLine where) {
  const Site site{"elu", std::move(where)};
  expect_finite(site, "alpha", options.alpha);
  return elementwise(site, x, options.name, [&](const Expr& e) { return elu_of(e, options.alpha); });
}

Tensor softplus(const Tensor& x, SoftplusOptions options, SourceLine where) {
  const Site site{"softplus", std::move(where)};
  expect_finite(site, "beta", options.beta);
  expect_finite(site, "threshold", options.threshold);
  if (options.beta == 0) site.refuse(ErrorKind::kArgument, "beta must not be 0", {"the result is divided by it"});
  return elementwise(site, x, options.name,
                     [&](const Expr& e) { return softplus_of(e, options.beta, options.threshold); });
}

Tensor prelu(const Tensor& x, const Tensor& slope, PreluOptions options, SourceLine where) {
  const Site site{"prelu", std::move(where)};
  expect_float(site, "x", x);
  expect_dtype(site, "slope", slope, x.dtype());
  const bool one = slope.rank() == 1 && ir::is_int(slope.shape()[0], 1);
  const size_t channel = one ? 0 : axis_of(site, x.rank(), options.axis);
  if (!one) expect_vector_of(site, "slope", slope, x, channel);
  return compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = x(exprs(i));
        return te::select(e > number(e, 0), e, e * slope(one ? Expr(0) : Expr(i[channel])));
      },
      options.name, {}, site.where);
}

Tensor clip(const Tensor& x, ClipOptions options, SourceLine where) {
  const Site site{"clip", std::move(where)};
  expect_number(site, "x", x);
  if (!(options.lowest <= options.highest))
    site.refuse(ErrorKind::kArgument, "lowest must be at most highest, not " + std::to_string(options.lowest) +
                                          " and " + std::to_string(options.highest));
  const Expr low = bound_of(site, x, options.lowest), high = bound_of(site, x, options.highest);
  return compute(
      x.shape(), [&](const std::vector<Var>& i) { return ir::min(high, ir::max(low, x(exprs(i)))); }, options.name, {},
      site.where);
}

}  // namespace tw::te::ops
