// The expansions keep their promise of docs/math.md, with and without fused multiply-adds, and scalars agree with
// vectors.

#include "src/ir/walk.h"
#include "src/lower/intrinsics.h"
#include "src/lower/near.h"
#include "src/lower/vectorize.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"
#include "tests/unit/ulp.h"

namespace tw::lower {
namespace {

using namespace ir;

// Y[i] = fn(X[i]) or fn(X[i], Z[i])
Program elementwise(Fn fn, Type t, int64_t n) {
  const Buffer X("X", t, {n}, Scope::kArgument), Z("Z", t, {n}, Scope::kArgument), Y("Y", t, {n}, Scope::kArgument);
  Var i("i");
  std::vector<Expr> args{load(X, {i})};
  if (fn == Fn::kPow) args.push_back(load(Z, {i}));
  return {"f", {{X}, {Z}, {Y, true}}, loop(i, n, store(Y, {i}, call(fn, args)), ForKind::kVectorized)};
}

Program elementwise_fma64() {
  const Buffer X("X", Type::f(64), {4}, Scope::kArgument), Y("Y", Type::f(64), {4}, Scope::kArgument);
  Var i("i");
  const Expr x = load(X, {i});
  return {"f", {{X}, {Y, true}}, loop(i, 4, store(Y, {i}, call(Fn::kFma, {x, x, x})))};
}

template <class Float>
std::vector<Float> evaluate(const Program& p, std::vector<Float> x, std::vector<Float> z) {
  std::vector<Float> y(x.size());
  const size_t bytes = x.size() * sizeof(Float);
  const InterpBuffer buffers[] = {{x.data(), bytes}, {z.data(), bytes}, {y.data(), bytes}};
  const Status status = interpret(p, buffers);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render());
  return y;
}

template <class Float>
struct Inputs {
  std::vector<Float> x, z;
};

// Patterns spread over all floats, all special values, and the ranges where the functions bend.
template <class Float>
Inputs<Float> inputs(Fn fn, size_t count) {
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  const Float inf = std::numeric_limits<Float>::infinity(), nan = std::numeric_limits<Float>::quiet_NaN();
  const std::vector<Float> special{0,
                                   Float(-0.0),
                                   1,
                                   -1,
                                   inf,
                                   -inf,
                                   nan,
                                   Float(0.5),
                                   Float(-0.5),
                                   2,
                                   -2,
                                   3,
                                   -3,
                                   Float(1e30),
                                   Float(-1e30),
                                   std::numeric_limits<Float>::denorm_min(),
                                   std::numeric_limits<Float>::min(),
                                   std::numeric_limits<Float>::max()};
  Inputs<Float> in;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> narrow(-2, 2), middle(-12, 12), wide(-800, 800);
  for (size_t n = 0; n < count; ++n) {
    const Bits bits = static_cast<Bits>(random());
    Float x;
    std::memcpy(&x, &bits, sizeof x);
    if (n % 4 == 1) x = static_cast<Float>(narrow(random));
    if (n % 4 == 2) x = static_cast<Float>(middle(random));
    if (n % 4 == 3) x = static_cast<Float>(wide(random));
    in.x.push_back(x);
    double z = n % 3 == 0 ? std::floor(middle(random)) : middle(random);
    if (fn == Fn::kPow && n % 2) {  // results over the whole range
      in.x.back() = std::abs(x);
      z = wide(random) / std::max(std::abs(std::log(std::abs(static_cast<double>(x)))), 1e-6);
    }
    in.z.push_back(static_cast<Float>(z));
  }
  for (Float a : special)
    for (Float b : special) in.x.push_back(a), in.z.push_back(b);
  return in;
}

template <class Float>
double worst(Fn fn, const Target& target, size_t count) {
  using Wide = std::conditional_t<sizeof(Float) == 4, double, long double>;
  const Inputs<Float> in = inputs<Float>(fn, count);
  const Type t = Type::f(8 * sizeof(Float));
  const Program p = intrinsics(elementwise(fn, t, static_cast<int64_t>(in.x.size())), target);
  const std::vector<Float> y = evaluate<Float>(p, in.x, in.z);
  double worst = 0;
  size_t where = 0;
  for (size_t n = 0; n < y.size(); ++n) {
    const double d = ulps(y[n], exact_value<Wide>(fn, in.x[n], in.z[n]));
    if (d > worst) worst = d, where = n;
  }
  if (worst > 4)
    ADD_FAILURE() << "f(" << in.x[where] << ", " << in.z[where] << ") = " << y[where] << ", " << worst << " ulp from "
                  << static_cast<double>(exact_value<Wide>(fn, in.x[where], in.z[where]));
  return worst;
}

const std::pair<const char*, Fn> kFunctions[] = {
    {"exp", Fn::kExp},     {"log", Fn::kLog},     {"tanh", Fn::kTanh}, {"sigmoid", Fn::kSigmoid}, {"erf", Fn::kErf},
    {"pow", Fn::kPow},     {"rsqrt", Fn::kRsqrt}, {"sin", Fn::kSin},   {"cos", Fn::kCos},         {"tan", Fn::kTan},
    {"atan", Fn::kAtan},   {"log2", Fn::kLog2},   {"exp2", Fn::kExp2}, {"log10", Fn::kLog10},     {"expm1", Fn::kExpm1},
    {"log1p", Fn::kLog1p}, {"cbrt", Fn::kCbrt}};

TEST(LowerIntrinsics, AtMostFourUlps) {
  for (const Target& target : {avx512_target(), sse_target()})
    for (const auto& [name, fn] : kFunctions) {
      SCOPED_TRACE(name);
      const double single = worst<float>(fn, target, 100000), twice = worst<double>(fn, target, 30000);
      std::printf("%-8s %-4s float32 %.3f  float64 %.3f\n", name, target.abilities.fma ? "fma" : "", single, twice);
    }
}

// Exponents that operations make, and those that they do not.
template <class Float>
void expect_powers_by(const Target& target, double most_ulps) {
  const Type type = Type::f(8 * sizeof(Float));
  std::vector<Float> x = {0,
                          -Float(0),
                          1,
                          -1,
                          2,
                          -3,
                          9,
                          Float(0.25),
                          std::numeric_limits<Float>::infinity(),
                          -std::numeric_limits<Float>::infinity(),
                          std::numeric_limits<Float>::quiet_NaN(),
                          std::numeric_limits<Float>::min(),
                          std::numeric_limits<Float>::max(),
                          std::numeric_limits<Float>::denorm_min()};
  std::mt19937 random(7);
  while (x.size() < 4000)
    x.push_back(std::ldexp(static_cast<Float>(random() % 65536 + 1) / 65536, static_cast<int>(random() % 240) - 120) *
                (random() % 2 ? 1 : -1));
  const auto n = static_cast<int64_t>(x.size());
  const Buffer A("A", type, {n}, Scope::kArgument), B("B", type, {n}, Scope::kArgument),
      Y("Y", type, {n}, Scope::kArgument);
  for (const double y : {-8.0, -3.0, -2.0, -1.0, -0.5, 0.5, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 9.0, 1.5}) {
    SCOPED_TRACE(y);
    const Var i("i");
    const Program p{
        "f", {{A}, {B}, {Y, true}}, loop(i, n, store(Y, {i}, call(Fn::kPow, {load(A, {i}), float_imm(type, y)})))};
    const std::vector<Float> got = evaluate<Float>(intrinsics(p, target), x, x);
    for (size_t k = 0; k < x.size(); ++k) {
      const long double exact = std::pow(static_cast<long double>(x[k]), static_cast<long double>(y));
      const auto nearest = static_cast<Float>(exact);
      if (std::isnan(nearest)) {
        ASSERT_TRUE(std::isnan(got[k])) << x[k];
      } else if (!std::isnormal(nearest)) {
        ASSERT_TRUE(got[k] == nearest || std::fabs(got[k] - nearest) <= std::numeric_limits<Float>::denorm_min())
            << x[k] << " " << got[k];
        ASSERT_EQ(std::signbit(got[k]), std::signbit(nearest)) << x[k];
      } else {
        ASSERT_LE(ulps(got[k], exact), most_ulps) << x[k] << " " << got[k];
      }
    }
  }
}

TEST(LowerIntrinsics, PowersOfConstantExponents) {
  for (const Target& target : {avx512_target(), sse_target()}) {
    expect_powers_by<float>(target, 0.501);
    expect_powers_by<double>(target, 1.5);
  }
}

TEST(LowerIntrinsics, RoundingWithoutAnInstructionIsExact) {
  for (Fn fn : {Fn::kFloor, Fn::kCeil, Fn::kRound, Fn::kTrunc}) {
    EXPECT_EQ(worst<float>(fn, sse_target(), 20000), 0);
    EXPECT_EQ(worst<double>(fn, sse_target(), 20000), 0);
  }
}

// Cancelling sums, ties, denormals and infinities: the library's fma of the host decides.
TEST(LowerIntrinsics, FmaWithoutAnInstructionRoundsOnce) {
  const Buffer A("A", Type::f(32), {30000}, Scope::kArgument), B("B", Type::f(32), {30000}, Scope::kArgument),
      Y("Y", Type::f(32), {30000}, Scope::kArgument);
  Var i("i");
  const Expr a = load(A, {i}), b = load(B, {i});
  const Expr c = float_imm(Type::f(32), -1);
  const Program p{"f", {{A}, {B}, {Y, true}}, loop(i, 30000, store(Y, {i}, call(Fn::kFma, {a, b, c})))};
  std::mt19937 random(4);
  std::vector<float> x, z;
  for (int n = 0; n < 30000; ++n) {
    const uint32_t bits = random();
    x.push_back(0), z.push_back(0);
    std::memcpy(&x.back(), &bits, 4);
    z.back() = n % 2 ? 1 / x.back() : std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096, n % 300 - 150);
    if (n % 3 == 0) x.back() = std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096, n % 200 - 100);
  }
  const std::vector<float> y = evaluate(intrinsics(p, sse_target()), x, z);
  for (size_t n = 0; n < y.size(); ++n) {
    const float exact = std::fma(x[n], z[n], -1.0f);
    ASSERT_TRUE(y[n] == exact || (std::isnan(y[n]) && std::isnan(exact))) << x[n] << " * " << z[n] << " - 1";
  }
  EXPECT_THROW(intrinsics(elementwise_fma64(), sse_target()), Error);
}

TEST(LowerIntrinsics, VectorsComputeWhatScalarsCompute) {
  const Target target = avx512_target();
  for (const auto& [name, fn] : kFunctions) {
    const Inputs<float> in = inputs<float>(fn, 1000);
    const Program p = elementwise(fn, Type::f(32), static_cast<int64_t>(in.x.size()));
    const Program vector = intrinsics(vectorize(p, target), target);
    expect_verified(vector);
    const std::vector<float> a = evaluate(intrinsics(p, target), in.x, in.z), b = evaluate(vector, in.x, in.z);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << name;
  }
}

// Where the results of exp and exp2 become subnormal, and where they leave the numbers: by the instruction for full
// registers, and in two factors.
template <class Float>
void expect_scaled_alike(Fn fn, std::pair<double, double> low, std::pair<double, double> high) {
  Inputs<Float> in;
  for (int64_t n = 0; n < 8000; ++n) {
    const auto& [from, to] = n % 2 ? low : high;
    in.x.push_back(static_cast<Float>(from + (to - from) * static_cast<double>(n) / 8000));
  }
  in.z = in.x;
  const Program p = elementwise(fn, Type::f(8 * sizeof(Float)), static_cast<int64_t>(in.x.size()));
  const Target target = avx512_target();
  const Program vector = intrinsics(vectorize(p, target), target), scalar = intrinsics(p, target);
  EXPECT_NE(to_string(vector).find("scale("), std::string::npos);
  EXPECT_EQ(to_string(scalar).find("scale("), std::string::npos);
  const std::vector<Float> a = evaluate<Float>(scalar, in.x, in.z), b = evaluate<Float>(vector, in.x, in.z);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(Float)), 0);
}

TEST(LowerIntrinsics, PowersOfTwoGiveTheSameBitsByAnInstruction) {
  expect_scaled_alike<float>(Fn::kExp, {-106, -86}, {88, 90});
  expect_scaled_alike<float>(Fn::kExp2, {-152, -124}, {127, 130});
  expect_scaled_alike<double>(Fn::kExp, {-748, -707}, {709, 711});
  expect_scaled_alike<double>(Fn::kExp2, {-1078, -1020}, {1023, 1026});
}

// Eight at a time, of which all are near 0, or all but one.
TEST(LowerIntrinsics, NearArgumentsOfExpGiveTheSameBits) {
  constexpr int64_t kTogether = 8, kGroups = 4000;
  const Buffer X("X", Type::f(32), {kGroups * kTogether}, Scope::kArgument);
  const Buffer Y("Y", Type::f(32), {kGroups * kTogether}, Scope::kArgument);
  const Buffer Z("Z", Type::f(32), {kGroups * kTogether}, Scope::kArgument);
  Var o("o"), i("i");
  const Expr at = o * kTogether + i;
  const Stmt group = loop(i, kTogether, store(Y, {at}, call(Fn::kExp, {load(X, {at})}) * float_imm(Type::f(32), 3)),
                          ForKind::kVectorized);
  const Program p{"f", {{X}, {Z}, {Y, true}}, loop(o, kGroups, group)};
  const Target target = avx512_target();
  const Program by_near = near(p, target);
  EXPECT_NE(to_string(by_near), to_string(p));
  expect_verified(by_near);
  const Inputs<float> any = inputs<float>(Fn::kExp, 1000);
  std::minstd_rand random(5);
  std::vector<float> x;
  for (int64_t n = 0; n < kGroups * kTogether; ++n)
    x.push_back(std::ldexp(static_cast<float>(random()) / 0x1p31f, static_cast<int>(n / kTogether % 12) - 4) * 87 /
                128 * (n % 2 ? 1 : -1));
  for (size_t n = 0; n < any.x.size(); ++n) x[(n * 2 * kTogether + n % kTogether) % x.size()] = any.x[n];
  const std::vector<float> a = evaluate(intrinsics(p, target), x, x);
  for (const Program& other : {intrinsics(by_near, target), intrinsics(vectorize(by_near, target), target)}) {
    const std::vector<float> b = evaluate(other, x, x);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  }
}

TEST(LowerIntrinsics, NoFunctionOfAMathLibraryIsLeft) {
  for (const auto& [name, fn] : kFunctions) {
    const Program p = intrinsics(elementwise(fn, Type::f(32), 8), sse_target());
    walk(
        p.body, [](const Stmt&) { return true; },
        [&](const Expr& e) {
          const auto* c = as<Call>(e);
          const bool kept = !c || c->fn == Fn::kSqrt || c->fn == Fn::kAbs || c->fn == Fn::kReinterpret;
          EXPECT_TRUE(kept) << name;
          return true;
        });
  }
}

}  // namespace
}  // namespace tw::lower
