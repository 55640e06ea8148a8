// float8 conversions after the pass: all patterns widen to what the format says, and everything narrows to the nearest
// pattern, ties to the even one.

#include <algorithm>
#include <limits>

#include "src/lower/float8.h"
#include "src/lower/halves.h"
#include "src/lower/vectorize.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

namespace tw::lower {
namespace {

using namespace ir;

const Type kTypes[] = {Type::e4m3(), Type::e5m2()};

Program conversion(Type in, Type out, size_t count) {
  const auto n = static_cast<int64_t>(count);
  const Buffer X("X", in, {n}, Scope::kArgument), Y("Y", out, {n}, Scope::kArgument);
  Var i("i");
  return {"f", {{X}, {Y, true}}, loop(i, n, store(Y, {i}, cast(out, load(X, {i}))), ForKind::kVectorized)};
}

template <class In, class Out>
std::vector<Out> evaluate(const Program& p, std::vector<In> x) {
  std::vector<Out> y(x.size());
  const InterpBuffer buffers[] = {{x.data(), x.size() * sizeof(In)}, {y.data(), y.size() * sizeof(Out)}};
  expect_verified(p);
  const Status status = interpret(p, buffers);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render());
  return y;
}

std::vector<Program> lowered(const Program& p) {
  const auto low = [](const Program& q, const Target& t) { return halves(float8(q, t), t); };
  return {p, low(p, sse_target()), low(vectorize(p, avx512_target()), avx512_target())};
}

// The formats, by their definition.
double value_of(Type t, int pattern) {
  const bool wide = t.code == TypeCode::kE5M2;
  const int fraction_bits = wide ? 2 : 3, bias = wide ? 15 : 7;
  const int magnitude = pattern & 127, exponent = magnitude >> fraction_bits;
  const double sign = pattern & 128 ? -1 : 1;
  if (!wide && magnitude == 127) return std::numeric_limits<double>::quiet_NaN();
  if (wide && exponent == 31)
    return magnitude & 3 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  const double fraction = (magnitude & ((1 << fraction_bits) - 1)) * std::ldexp(1.0, -fraction_bits);
  return sign * std::ldexp(exponent ? 1 + fraction : fraction, std::max(exponent, 1) - bias);
}

int nan_of(Type t) { return t.code == TypeCode::kE5M2 ? 0x7e : 0x7f; }

// Among the patterns of one sign, and one further step that stands for what is too large.
uint8_t nearest(Type t, double x) {
  const int sign = std::signbit(x) ? 128 : 0, last = t.code == TypeCode::kE5M2 ? 0x7b : 0x7e;
  if (std::isnan(x)) return static_cast<uint8_t>(sign | nan_of(t));
  const double a = std::abs(x), step = value_of(t, last) - value_of(t, last - 1);
  int best = last + 1;
  double distance = std::abs(a - (value_of(t, last) + step));
  for (int k = last; k >= 0; --k) {
    const double d = std::abs(a - value_of(t, k));
    if (d < distance || (d == distance && k % 2 == 0)) best = k, distance = d;
  }
  if (a > value_of(t, last) + step) best = last + 1;
  return static_cast<uint8_t>(sign | best);
}

template <class In>
void expect_nearest(const std::vector<In>& x, Type in) {
  for (Type t : kTypes)
    for (const Program& p : lowered(conversion(in, t, x.size()))) {
      const auto got = evaluate<In, uint8_t>(p, x);
      for (size_t n = 0; n < x.size(); ++n) {
        const uint8_t expected = nearest(t, static_cast<double>(x[n]));
        ASSERT_EQ(int{got[n]}, int{expected}) << to_string(t) << " of " << static_cast<double>(x[n]);
      }
    }
}

TEST(LowerFloat8, WideningIsExactForAllPatterns) {
  std::vector<uint8_t> all(256);
  for (size_t n = 0; n < all.size(); ++n) all[n] = static_cast<uint8_t>(n);
  for (Type t : kTypes)
    for (const Program& p : lowered(conversion(t, Type::f(32), all.size()))) {
      const auto got = evaluate<uint8_t, float>(p, all);
      for (size_t n = 0; n < all.size(); ++n) {
        const double expected = value_of(t, static_cast<int>(n));
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(got[n])) << n;
        else
          ASSERT_TRUE(got[n] == expected && std::signbit(got[n]) == std::signbit(expected)) << n;
      }
    }
}

TEST(LowerFloat8, NarrowingRoundsToNearestEven) {
  std::vector<float> floats;
  std::vector<double> doubles;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 405037) {
    const auto pattern = static_cast<uint32_t>(bits);
    floats.emplace_back();
    std::memcpy(&floats.back(), &pattern, 4);
  }
  // Halfway between two of them, and just beside, for a double by less than a float32 can show.
  for (Type t : kTypes)
    for (int k = 0; k < 0x7b; ++k) {
      const double tie = (value_of(t, k) + value_of(t, k + 1)) / 2;
      for (double x : {tie, tie * (1 + 0x1p-50), tie * (1 - 0x1p-50)}) doubles.push_back(x), doubles.push_back(-x);
      for (double x : {tie, tie * (1 + 0x1p-22), tie * (1 - 0x1p-22)}) floats.push_back(static_cast<float>(x));
    }
  for (float x : {447.0f, 448.0f, 463.9f, 464.0f, 464.1f, 480.0f, 57344.0f, 61439.0f, 61440.0f, 65536.0f, 131072.0f})
    floats.push_back(x), floats.push_back(-x);
  expect_nearest(floats, Type::f(32));
  expect_nearest(doubles, Type::f(64));
}

TEST(LowerFloat8, IntegersRoundOnce) {
  std::vector<int32_t> integers;
  for (int n = -5000; n < 5000; ++n) integers.push_back(n * (n % 7 == 0 ? 65521 : 13));
  expect_nearest(integers, Type::i(32));
}

}  // namespace
}  // namespace tw::lower
