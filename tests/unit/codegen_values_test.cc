// Every operator, function and cast on values chosen to hurt: compiled code means what the interpreter means, as
// scalars and as vectors, with and without optimisation.
#include <functional>
#include <random>

#include "codegen/c/backend.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

using ir::BinOp;
using ir::Expr;
using ir::Fn;
using ir::Type;

constexpr int kElements = 240;
constexpr int kLanes = 16;

const std::vector<Type>& integer_types() {
  static const std::vector<Type> types = {Type::i(8), Type::i(16), Type::i(32), Type::i(64),
                                          Type::u(8), Type::u(16), Type::u(32), Type::u(64)};
  return types;
}

// Edge values in every pair of positions, then random ones.
Bytes awkward(Type type, uint64_t seed, int stride) {
  std::mt19937_64 random(seed);
  Bytes bytes(static_cast<size_t>(kElements * type.bytes()));
  const double reals[] = {0.0,      -0.0,      1.0, -1.0,  0.5,  1.5,  2.5,   -2.5,
                          INFINITY, -INFINITY, NAN, 1e-45, 3e38, -3e9, 4.3e9, 1.9e19};
  for (int e = 0; e < kElements; ++e) {
    unsigned char* at = bytes.data() + e * type.bytes();
    const int edge = (e / stride) % 16;
    if (type.is_float() && !type.is_half()) {
      const double value = e < 256 && e % 3 ? reals[edge] : std::ldexp(static_cast<double>(random() % 4096) - 2048, -5);
      const float single = static_cast<float>(value);
      type.bits == 32 ? std::memcpy(at, &single, 4) : std::memcpy(at, &value, 8);
      continue;
    }
    const uint64_t top = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
    const uint64_t integers[] = {0, 1,  2,   3,  7,       top, top - 1, top >> 1, (top >> 1) + 1,
                                 5, 10, 100, 64, top - 6, 16,  127};
    uint64_t value = e % 3 && !type.is_half() ? integers[edge] : random();
    if (type.is_bool()) value &= 1;
    if (type.is_half()) value &= ~uint64_t{1 << 10};  // finite
    std::memcpy(at, &value, static_cast<size_t>(type.bytes()));
  }
  return bytes;
}

using Make = std::function<Expr(Expr, Expr)>;

// C[i] = make(A[i], B[i]) as a scalar loop and as a loop over vectors.
void check(Type type, const Make& make, const Target& on = native()) {
  const ir::Buffer a("A", type, {kElements}, ir::Scope::kArgument), b("B", type, {kElements}, ir::Scope::kArgument);
  const auto program = [&](int lanes) {
    const ir::Var i("i");
    const Expr at = lanes == 1 ? Expr(i) : ir::ramp(Expr(i) * Expr(lanes), 1, lanes);
    const Expr value = make(ir::load(a, {at}), ir::load(b, {at}));
    const ir::Buffer c("C", value.type().element(), {kElements}, ir::Scope::kArgument);
    return ir::Program{
        "k", {{a, false}, {b, false}, {c, true}}, ir::loop(i, kElements / lanes, ir::store(c, {at}, value))};
  };
  for (int lanes : {1, kLanes}) {
    const ir::Program p = program(lanes);
    const Bytes out(static_cast<size_t>(kElements * p.params[2].buffer.element().bytes()));
    expect_all_agree(p, {awkward(type, 1, 1), awkward(type, 2, 16), out}, on);
  }
}

TEST(CodegenValues, IntegerArithmeticWraps) {
  for (Type type : integer_types())
    for (BinOp op : {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kMin, BinOp::kMax})
      check(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
}

TEST(CodegenValues, DivisionNeverTraps) {
  for (Type type : integer_types())
    for (BinOp op : {BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod})
      check(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
}

TEST(CodegenValues, DivisionByConstants) {
  for (Type type : {Type::i(8), Type::i(32), Type::u(16), Type::i(64)})
    for (int64_t divisor : {-8, -3, -1, 0, 1, 2, 7, 16})
      for (BinOp op : {BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod})
        check(type, [&](Expr a, Expr) { return ir::binary(op, a, ir::int_imm(a.type(), divisor)); });
}

TEST(CodegenValues, QuotientsOfShortVectorsTurnedRound) {
  for (Type type : {Type::i(8), Type::u(8), Type::i(16)})
    for (BinOp op : {BinOp::kTruncDiv, BinOp::kTruncMod, BinOp::kFloorDiv})
      for (int lanes : {2, 4, 8}) {
        const ir::Buffer a("A", type, {kElements}, ir::Scope::kArgument),
            b("B", type, {kElements}, ir::Scope::kArgument), c("C", type, {kElements}, ir::Scope::kArgument);
        const ir::Var i("i");
        const Expr last = Expr(i) * Expr(lanes) + Expr(lanes - 1), at = ir::ramp(Expr(i) * Expr(lanes), 1, lanes);
        const Expr turned = ir::load(a, {ir::ramp(last, -1, lanes)});
        const Expr value = ir::binary(op, turned, ir::int_imm(turned.type(), 3)) * ir::load(b, {at});
        const ir::Program p{
            "k", {{a, false}, {b, false}, {c, true}}, ir::loop(i, kElements / lanes, ir::store(c, {at}, value))};
        const Bytes out(static_cast<size_t>(kElements * type.bytes()));
        expect_all_agree(p, {awkward(type, 1, 1), awkward(type, 2, 16), out});
      }
}

TEST(CodegenValues, BitsAndShifts) {
  for (Type type : integer_types())
    for (BinOp op : {BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShl, BinOp::kShr})
      check(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
}

TEST(CodegenValues, Comparisons) {
  std::vector<Type> types = integer_types();
  types.insert(types.end(), {Type::f(32), Type::f(64), Type::boolean()});
  for (Type type : types)
    for (BinOp op : {BinOp::kEq, BinOp::kNe, BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe})
      check(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
}

TEST(CodegenValues, FloatArithmetic) {
  for (Type type : {Type::f(32), Type::f(64)}) {
    for (BinOp op : {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kDiv, BinOp::kMin, BinOp::kMax})
      check(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
    check(type, [&](Expr a, Expr b) { return a * b + a; });  // not contracted
    for (Fn fn : {Fn::kSqrt, Fn::kAbs, Fn::kFloor, Fn::kCeil, Fn::kRound, Fn::kTrunc})
      check(type, [&](Expr a, Expr) { return ir::call(fn, {a}); });
    if (native().abilities.fma) check(type, [&](Expr a, Expr b) { return ir::call(Fn::kFma, {a, b, a}); });
  }
}

// gcc turns the sum of a fused multiply-add round together with its sign, and loses the sign of a zero.
TEST(CodegenValues, NegativesOfFusedMultiplyAdds) {
  if (!native().abilities.fma) GTEST_SKIP() << "skipped: this CPU has no fused multiply-add";
  std::vector<Target> targets = {native()};
  if (codegen::has_c_compiler()) targets.push_back(parse_target("c -mcpu=native"));
  for (const Target& on : targets)
    for (Type type : {Type::f(32), Type::f(64)}) {
      const auto fma = [](Expr a, Expr b) { return ir::call(Fn::kFma, {a, b, a}); };
      const auto real = [&](Expr like, double value) {
        const Expr scalar = ir::float_imm(type, value);
        return like.type().lanes == 1 ? scalar : ir::broadcast(scalar, like.type().lanes);
      };
      check(type, [&](Expr a, Expr b) { return fma(a, b) * real(a, -1); }, on);
      check(type, [&](Expr a, Expr b) { return real(a, -1) * fma(a, b); }, on);
      check(type, [&](Expr a, Expr b) { return ir::binary(BinOp::kDiv, fma(a, b), real(a, -1)); }, on);
      check(type, [&](Expr a, Expr b) { return real(a, -0.0) - fma(a, b); }, on);
      check(type, [&](Expr a, Expr b) { return ir::call(Fn::kFma, {fma(a, b) * real(a, -1), b, a}); }, on);
    }
}

// Between a half and a constant, LLVM makes an extremum of halves, for which it would call fminf: no kernel has that.
TEST(CodegenValues, ExtremaOfHalvesCallNoLibrary) {
  if (!native().abilities.float16) GTEST_SKIP() << "skipped: this CPU does not convert float16";
  for (BinOp op : {BinOp::kMin, BinOp::kMax})
    for (double bound : {1.0, -2.5, 0.0})
      for (bool constant_first : {false, true})
        check(Type::f(16), [&](Expr a, Expr) {
          const Type single = Type::f(32, a.type().lanes);
          const Expr x = ir::cast(single, a), c = ir::float_imm(single, bound);
          return ir::cast(a.type(), constant_first ? ir::binary(op, c, x) : ir::binary(op, x, c));
        });
}

// LLVM compares halves where what they are converted to is compared, and has no vectors of that.
TEST(CodegenValues, WhatHalvesBecameIsComparedInVectors) {
  const ir::Program p = parse(R"(kernel k(A: float16[64], B: out float16[64], C: out float32[64]):
  for i in 0..4:
    B[i * 16 : 16] = select(float32(A[i * 16 : 16]) < 0.25, A[i * 16 : 16], float16(float32(A[i * 16 : 16]) * 2.0))
    C[i * 16 : 16] = max(float32(A[i * 16 : 16]), C[i * 16 : 16])
)");
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const std::string text = build(p, parse_target(std::string("llvm -mcpu=") + cpu))->source("asm");
    EXPECT_EQ(text.find("vucomiss"), text.npos) << cpu << text;
    EXPECT_NE(text.find("vcvtph2ps"), text.npos) << cpu;
  }
}

TEST(CodegenValues, IntegerAbsAndReinterpret) {
  for (Type type : integer_types()) check(type, [&](Expr a, Expr) { return ir::call(Fn::kAbs, {a}); });
  check(Type::f(32), [](Expr a, Expr) { return ir::reinterpret(Type::i(32).with_lanes(a.type().lanes), a); });
  check(Type::u(64), [](Expr a, Expr) { return ir::reinterpret(Type::f(64).with_lanes(a.type().lanes), a); });
}

TEST(CodegenValues, LogicAndSelect) {
  check(Type::boolean(), [](Expr a, Expr b) { return ir::logical_not(a) && b; });
  check(Type::boolean(), [](Expr a, Expr b) { return a || ir::logical_not(b); });
  for (Type type : {Type::i(8), Type::f(32), Type::u(64)})
    check(type, [](Expr a, Expr b) { return ir::select(a < b, a, b); });
}

TEST(CodegenValues, CastsBetweenAllTypes) {
  std::vector<Type> types = integer_types();
  types.insert(types.end(), {Type::f(32), Type::f(64), Type::boolean()});
  for (Type from : types)
    for (Type to : types) check(from, [&](Expr a, Expr) { return ir::cast(to.with_lanes(a.type().lanes), a); });
}

TEST(CodegenValues, LetBindsOnce) {
  check(Type::i(32), [](Expr a, Expr b) {
    const ir::Var t("t", a.type());
    return ir::let(t, a * b, Expr(t) + Expr(t) * Expr(t));
  });
}

TEST(CodegenValues, OlderCpusGiveTheSame) {
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    const Target old = parse_target(std::string("llvm -mcpu=") + cpu);
    for (Type type : {Type::i(8), Type::u(32), Type::i(64)}) {
      check(type, [](Expr a, Expr b) { return ir::binary(BinOp::kFloorDiv, a, b); }, old);
      check(type, [](Expr a, Expr b) { return ir::binary(BinOp::kMul, ir::max(a, b), b); }, old);
      check(type, [](Expr a, Expr) { return ir::cast(Type::f(32, a.type().lanes), a); }, old);
    }
    for (Type to : {Type::i(8), Type::u(32), Type::u(64)})
      check(Type::f(64), [&](Expr a, Expr) { return ir::cast(to.with_lanes(a.type().lanes), a); }, old);
  }
}

#else
TEST(CodegenValues, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
