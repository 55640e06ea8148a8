// The functions that docs/math.md promises something of: as expressions, in more precision, and inputs for them.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "tensorwright/te_functions.h"
#include "tests/unit/ulp.h"

namespace tw::lower {

using ir::Expr;
using ir::Fn;

struct Function {
  const char* name;
  std::function<Expr(Expr x, Expr y)> apply;
  std::function<double(double, double)> exact;
  std::function<long double(long double, long double)> exact_wide;
  bool of_two = false, is_power = false;

  double value(double x, double y) const { return exact(x, y); }
  long double value(long double x, long double y) const { return exact_wide(x, y); }
};

inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline double uniform(uint64_t n) { return static_cast<double>(mixed(n) >> 11) / (uint64_t{1} << 53) - 0.5; }

// An exponent for which x^y is finite, as a rule; whole ones among them.
inline double exponent_for(double x, uint64_t n, double range) {
  const double log = std::log(std::abs(x)), spread = uniform(n) * range;
  return n % 4 == 0 ? std::nearbyint(spread / 10) : spread / (std::isnormal(log) ? log : 1);
}

// Of power an exponent; of the others a number near x, as a rule, and any.
inline double second(const Function& fn, double x, uint64_t n, bool single) {
  if (fn.is_power) return exponent_for(x, n, single ? 240 : 1900);
  const int exponents = single ? 250 : 2000;
  if (n % 8 == 0)
    return std::ldexp(uniform(n), static_cast<int>(mixed(n + 1) % static_cast<uint64_t>(exponents)) - exponents / 2);
  return x * 4 * uniform(n) * (n % 8 == 1 ? 1e-3 : 1);
}

inline float input(const Function& fn, uint64_t n, float) {
  const auto bits = static_cast<uint32_t>(fn.of_two ? n * 16 + mixed(n) % 16 : n);
  return std::bit_cast<float>(bits);
}

inline double input(const Function&, uint64_t n, double) {
  if (n % 4 == 0) return std::bit_cast<double>(mixed(~n));
  return uniform(~n) * (n % 4 == 1 ? 4 : n % 4 == 2 ? 40 : 1500);
}

inline Function of_ir(const char* name, Fn fn) {
  const bool power = fn == Fn::kPow;
  return {name,
          [=](Expr x, Expr y) { return power ? te::power(x, y) : ir::call(fn, {x}); },
          [=](double x, double y) { return lower::exact_value<double>(fn, x, y); },
          [=](long double x, long double y) { return lower::exact_value<long double>(fn, x, y); },
          power,
          power};
}

// An expression of te, of one operand or two, and the standard library's function.
#define TW_OF_ONE(name)                                                                             \
  Function {                                                                                        \
    #name, [](Expr x, Expr) { return te::name(x); }, [](double x, double) { return std::name(x); }, \
        [](long double x, long double) { return std::name(x); }                                     \
  }
#define TW_OF_TWO(name)                                                                                       \
  Function {                                                                                                  \
    #name, [](Expr x, Expr y) { return te::name(x, y); }, [](double x, double y) { return std::name(x, y); }, \
        [](long double x, long double y) { return std::name(x, y); }, true                                    \
  }

inline const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      of_ir("exp", Fn::kExp),
      of_ir("exp2", Fn::kExp2),
      of_ir("expm1", Fn::kExpm1),
      of_ir("log", Fn::kLog),
      of_ir("log2", Fn::kLog2),
      of_ir("log10", Fn::kLog10),
      of_ir("log1p", Fn::kLog1p),
      of_ir("sin", Fn::kSin),
      of_ir("cos", Fn::kCos),
      of_ir("tan", Fn::kTan),
      of_ir("atan", Fn::kAtan),
      of_ir("cbrt", Fn::kCbrt),
      of_ir("tanh", Fn::kTanh),
      of_ir("sigmoid", Fn::kSigmoid),
      of_ir("erf", Fn::kErf),
      of_ir("power", Fn::kPow),
      of_ir("rsqrt", Fn::kRsqrt),
      TW_OF_ONE(asin),
      TW_OF_ONE(acos),
      TW_OF_ONE(sinh),
      TW_OF_ONE(cosh),
      TW_OF_ONE(asinh),
      TW_OF_ONE(acosh),
      TW_OF_ONE(atanh),
      TW_OF_TWO(atan2),
      TW_OF_TWO(hypot),
      TW_OF_TWO(fmod),
      {"exp10", [](Expr x, Expr) { return te::exp10(x); }, [](double x, double) { return std::pow(10.0, x); },
       [](long double x, long double) { return std::pow(10.0L, x); }},
  };
  return all;
}

#undef TW_OF_ONE
#undef TW_OF_TWO

}  // namespace tw::lower
