// Distances in units of the last place, and the functions in more precision than they promise.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensorwright/ir.h"

namespace tw::lower {

// How far `got` is from the exact value, in units of the last place of the float that is nearest to it (denormals
// included). Infinite where the two disagree about NaN or infinity.
template <class Float, class Wide>
double ulps(Float got, Wide exact) {
  const Float nearest = static_cast<Float>(exact);
  if (std::isnan(got) || std::isnan(nearest)) return std::isnan(got) && std::isnan(nearest) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(nearest)) {
    if (got == nearest) return 0;
    // One step across the largest finite value is an error of one unit or so, no more.
    const Float largest = std::numeric_limits<Float>::max();
    return std::abs(static_cast<double>(got)) >= largest && std::abs(static_cast<double>(nearest)) >= largest
               ? 1
               : INFINITY;
  }
  if (got == nearest && std::signbit(got) != std::signbit(nearest)) return INFINITY;
  const Float a = std::abs(nearest);
  const Float next = std::nextafter(a, std::numeric_limits<Float>::infinity());
  const Wide unit = std::isinf(next) ? static_cast<Wide>(a) - std::nextafter(a, Float(0)) : static_cast<Wide>(next) - a;
  return static_cast<double>(std::abs((static_cast<Wide>(got) - exact) / unit));
}

// double for float32, long double for float64.
template <class Wide>
Wide exact_value(ir::Fn fn, Wide x, Wide y) {
  switch (fn) {
    case ir::Fn::kExp:
      return std::exp(x);
    case ir::Fn::kLog:
      return std::log(x);
    case ir::Fn::kTanh:
      return std::tanh(x);
    case ir::Fn::kSigmoid:
      return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    case ir::Fn::kErf:
      return std::erf(x);
    case ir::Fn::kPow:
      return std::pow(x, y);
    case ir::Fn::kRsqrt:
      return 1 / std::sqrt(x);
    case ir::Fn::kFloor:
      return std::floor(x);
    case ir::Fn::kCeil:
      return std::ceil(x);
    case ir::Fn::kRound:
      return std::nearbyint(x);
    case ir::Fn::kTrunc:
      return std::trunc(x);
    case ir::Fn::kSin:
      return std::sin(x);
    case ir::Fn::kCos:
      return std::cos(x);
    case ir::Fn::kTan:
      return std::tan(x);
    case ir::Fn::kAtan:
      return std::atan(x);
    case ir::Fn::kLog2:
      return std::log2(x);
    case ir::Fn::kExp2:
      return std::exp2(x);
    case ir::Fn::kLog10:
      return std::log10(x);
    case ir::Fn::kExpm1:
      return std::expm1(x);
    case ir::Fn::kLog1p:
      return std::log1p(x);
    case ir::Fn::kCbrt:
      return std::cbrt(x);
    default:
      return x;
  }
}

}  // namespace tw::lower
