// Half arithmetic after the pass gives what the interpreter gives for the halves themselves, on all patterns or a
// stride of them.

#include <algorithm>
#include <functional>

#include "src/lower/halves.h"
#include "src/lower/vectorize.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

namespace tw::lower {
namespace {

using namespace ir;

const Type kHalfTypes[] = {Type::f(16), Type::bf16()};

// Y[i] = f(X[i], Z[i])
Program elementwise(Type in, Type out, int64_t n, const std::function<Expr(Expr, Expr)>& f) {
  const Buffer X("X", in, {n}, Scope::kArgument), Z("Z", in, {n}, Scope::kArgument), Y("Y", out, {n}, Scope::kArgument);
  Var i("i");
  return {"f", {{X}, {Z}, {Y, true}}, loop(i, n, store(Y, {i}, f(load(X, {i}), load(Z, {i}))), ForKind::kVectorized)};
}

template <class In, class Out>
std::vector<Out> evaluate(const Program& p, std::vector<In> x, std::vector<In> z) {
  std::vector<Out> y(x.size());
  const InterpBuffer buffers[] = {
      {x.data(), x.size() * sizeof(In)}, {z.data(), z.size() * sizeof(In)}, {y.data(), y.size() * sizeof(Out)}};
  expect_verified(p);
  const Status status = interpret(p, buffers);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().render());
  return y;
}

bool is_nan16(Type t, uint16_t bits) { return (bits & 0x7fff) > (t.code == TypeCode::kBFloat ? 0x7f80 : 0x7c00); }

void expect_same_halves(Type t, const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  int shown = 0;
  for (size_t n = 0; n < a.size() && shown < 5; ++n)
    if (a[n] != b[n] && !(is_nan16(t, a[n]) && is_nan16(t, b[n]))) {
      ADD_FAILURE() << n << ": " << std::hex << a[n] << " became " << b[n];
      ++shown;
    }
}

std::vector<Program> lowered(const Program& p) {
  return {halves(p, sse_target()), halves(p, avx512_target()), halves(vectorize(p, avx512_target()), avx2_target())};
}

std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> out(65536);
  for (size_t n = 0; n < out.size(); ++n) out[n] = static_cast<uint16_t>(n);
  return out;
}

std::vector<uint16_t> shuffled_halves() {
  std::vector<uint16_t> out = all_halves();
  std::shuffle(out.begin(), out.end(), std::mt19937(5));
  return out;
}

TEST(LowerHalves, WideningIsExactForAllPatterns) {
  for (Type t : kHalfTypes) {
    const Program p = elementwise(t, Type::f(32), 65536, [](Expr x, Expr) { return cast(Type::f(32), x); });
    const auto expected = evaluate<uint16_t, float>(p, all_halves(), all_halves());
    for (const Program& q : lowered(p)) {
      const auto got = evaluate<uint16_t, float>(q, all_halves(), all_halves());
      for (size_t n = 0; n < got.size(); ++n)
        ASSERT_TRUE(std::memcmp(&got[n], &expected[n], 4) == 0 || (std::isnan(got[n]) && std::isnan(expected[n]))) << n;
    }
  }
}

// The patterns of values that halves hold exactly.
std::vector<uint16_t> patterns(Type t, const std::vector<float>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return evaluate<float, uint16_t>(elementwise(Type::f(32), t, n, [&](Expr a, Expr) { return cast(t, a); }), values,
                                   values);
}

template <class In>
void expect_narrowing(const std::vector<In>& x) {
  for (Type t : kHalfTypes) {
    const Type in = std::is_floating_point_v<In> ? Type::f(8 * sizeof(In)) : Type::i(8 * sizeof(In));
    std::vector<float> rounded;
    for (In value : x) rounded.push_back(static_cast<float>(round_to(t, static_cast<double>(value))));
    const auto expected = patterns(t, rounded);
    const Program p = elementwise(in, t, static_cast<int64_t>(x.size()), [&](Expr a, Expr) { return cast(t, a); });
    for (const Program& q : lowered(p)) expect_same_halves(t, expected, evaluate<In, uint16_t>(q, x, x));
  }
}

TEST(LowerHalves, NarrowingRoundsToNearestEven) {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 40503) {
    float x;
    const uint32_t pattern = static_cast<uint32_t>(bits);
    std::memcpy(&x, &pattern, 4);
    floats.push_back(x);
  }
  // Halfway between two halves, and just beside.
  for (uint32_t half = 0; half < 65536; half += 7)
    for (uint32_t beside : {0x0fffu, 0x1000u, 0x1001u}) {
      const uint32_t pattern = (half << 13) + 0x38000000 + beside;
      float x;
      std::memcpy(&x, &pattern, 4);
      floats.push_back(x);
    }
  expect_narrowing(floats);
}

TEST(LowerHalves, DoublesAndIntegersRoundOnce) {
  std::vector<double> doubles;
  std::mt19937_64 random(2);
  for (float exponent = -30; exponent < 20; exponent += 0.25f)
    for (int n = 0; n < 50; ++n) {
      // A tie of float16 or bfloat16, off by less than a float32 can show.
      const double tie =
          std::ldexp(1 + (2 * (random() % 1024) + 1) / (n % 2 ? 2048.0 : 256.0), static_cast<int>(exponent));
      doubles.push_back(tie * (1 + (n % 3 - 1) * 0x1p-50));
      doubles.push_back(-doubles.back());
    }
  expect_narrowing(doubles);
  std::vector<int32_t> integers;
  for (int n = 0; n < 20000; ++n) integers.push_back(static_cast<int32_t>(random()) >> (n % 31));
  expect_narrowing(integers);
}

TEST(LowerHalves, EachOperationRoundsOnce) {
  const std::vector<std::function<Expr(Expr, Expr)>> operations = {
      [](Expr x, Expr z) { return x + z; },
      [](Expr x, Expr z) { return x * z + x; },
      [](Expr x, Expr z) { return x - z * z; },
      [](Expr x, Expr z) { return binary(BinOp::kDiv, x, z); },
      [](Expr x, Expr z) { return max(x, z); },
      [](Expr x, Expr z) { return select(x < z, x + x, z); },
      [](Expr x, Expr) { return call(Fn::kSqrt, {call(Fn::kAbs, {x})}); },
      [](Expr x, Expr z) { return call(Fn::kFloor, {x}) + call(Fn::kRound, {z}); },
      [](Expr x, Expr z) { return reinterpret(x.type(), reinterpret(Type::u(16), x + z)); },
      [](Expr x, Expr z) {
        Var v("v", x.type());
        return let(v, x * z, Expr(v) + Expr(v));
      },
      [](Expr x, Expr z) { return cast(x.type(), cast(Type::i(32), x)) + cast(x.type(), cast(Type::f(64), z)); },
  };
  for (Type t : kHalfTypes)
    for (size_t n = 0; n < operations.size(); ++n) {
      SCOPED_TRACE(n);
      const Program p = elementwise(t, t, 65536, operations[n]);
      const auto x = all_halves(), z = shuffled_halves();
      const auto expected = evaluate<uint16_t, uint16_t>(p, x, z);
      for (const Program& q : lowered(p)) expect_same_halves(t, expected, evaluate<uint16_t, uint16_t>(q, x, z));
    }
}

}  // namespace
}  // namespace tw::lower
