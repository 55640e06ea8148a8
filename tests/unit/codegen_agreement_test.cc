// One lowered program means the same in the interpreter, LLVM at O0 and O3, and C with and without vector extensions:
// bit for bit, where any NaN equals any other.
#include <functional>
#include <random>

#include "codegen/c/backend.h"
#include "codegen/llvm/backend.h"
#include "src/lower/pipeline.h"
#include "src/runtime/kernel.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

using ir::BinOp;
using ir::Expr;
using ir::Fn;
using ir::Type;

constexpr int kElements = 272;
constexpr int kLanes = 16;

const std::vector<Type> kIntegers = {Type::i(8), Type::i(16), Type::i(32), Type::i(64),
                                     Type::u(8), Type::u(16), Type::u(32), Type::u(64)};
const std::vector<Type> kFloats = {Type::f(16), Type::bf16(), Type::f(32), Type::f(64)};

std::vector<Type> all_types() {
  std::vector<Type> types = kIntegers;
  types.insert(types.end(), kFloats.begin(), kFloats.end());
  types.push_back(Type::boolean());
  return types;
}

void put(unsigned char* at, Type type, double value) {
  const float single = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &single, 4);
  const uint16_t bfloat = static_cast<uint16_t>(bits >> 16);
  const _Float16 half = static_cast<_Float16>(single);
  if (type.bits == 64) std::memcpy(at, &value, 8);
  if (type.bits == 32) std::memcpy(at, &single, 4);
  if (type == Type::bf16()) std::memcpy(at, &bfloat, 2);
  if (type == Type::f(16)) std::memcpy(at, &half, 2);
}

// Edge values against each other in every pair of positions, then random ones.
Bytes awkward(Type type, uint64_t seed, int stride) {
  std::mt19937_64 random(seed);
  Bytes bytes(static_cast<size_t>(kElements * type.bytes()));
  const double reals[] = {0.0,      -0.0, 1.0,   -1.0, 0.5,  1.5,  2.5,    -2.5,
                          INFINITY, NAN,  1e-45, 3e38, -3e9, 88.7, 1.9e19, -127.5};
  for (int e = 0; e < kElements; ++e) {
    unsigned char* at = bytes.data() + e * type.bytes();
    const int edge = (e / stride) % 16;
    if (type.is_float()) {
      put(at, type, e < 256 ? reals[edge] : std::ldexp(static_cast<double>(random() % 4096) - 2048, -5));
      continue;
    }
    const uint64_t top = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
    const uint64_t integers[] = {0, 1,  2,   3,  7,       top, top - 1, top >> 1, (top >> 1) + 1,
                                 5, 10, 100, 64, top - 6, 16,  31};
    uint64_t value = e < 256 ? integers[edge] : random();
    if (type.is_bool()) value &= 1;
    std::memcpy(at, &value, static_cast<size_t>(type.bytes()));
  }
  return bytes;
}

bool is_nan(Type type, const unsigned char* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(type.bytes()));
  const int fraction = type.bits == 64 ? 52 : type.bits == 32 ? 23 : type == Type::bf16() ? 7 : 10;
  const uint64_t magnitude = bits & ((uint64_t{1} << (type.bits - 1)) - 1);
  return type.is_float() && magnitude > ((uint64_t{1} << (type.bits - 1)) - (uint64_t{1} << fraction));
}

std::string difference(const ir::Program& p, const std::vector<Bytes>& expected, const std::vector<Bytes>& got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const Type type = p.params[i].buffer.element();
    const size_t width = static_cast<size_t>(type.bytes());
    for (size_t at = 0; at < expected[i].size(); at += width)
      if (std::memcmp(&expected[i][at], &got[i][at], width) != 0 &&
          !(is_nan(type, &expected[i][at]) && is_nan(type, &got[i][at])))
        return p.params[i].buffer.name() + "[" + std::to_string(at / width) + "]";
  }
  return "";
}

using Make = std::function<Expr(Expr, Expr)>;

// Programs with their data, gathered so that they are compiled together, a few times only.
class Cases {
 public:
  // C[i] = make(A[i], B[i]) as a loop over scalars and over vectors, after all passes.
  void add(Type type, const Make& make) {
    for (const int lanes : {1, kLanes}) {
      const ir::Buffer a("A", type, {kElements}, ir::Scope::kArgument), b("B", type, {kElements}, ir::Scope::kArgument);
      const ir::Var i("i");
      const Expr at = lanes == 1 ? Expr(i) : ir::ramp(Expr(i) * Expr(lanes), 1, lanes);
      const Expr value = make(ir::load(a, {at}), ir::load(b, {at}));
      const ir::Buffer c("C", value.type().element(), {kElements}, ir::Scope::kArgument);
      const ir::Program p{
          "k", {{a, false}, {b, false}, {c, true}}, ir::loop(i, kElements / lanes, ir::store(c, {at}, value))};
      const Bytes out(static_cast<size_t>(kElements * c.element().bytes()));
      programs_.push_back(lower::run_pipeline(lower::cpu_passes(), p, on_));
      data_.push_back({awkward(type, 1, 1), awkward(type, 2, 16), out});
    }
  }
  void add(const ir::Program& lowered, std::vector<Bytes> data) {
    programs_.push_back(lowered);
    data_.push_back(std::move(data));
  }

  void expect_agreement() const {
    std::vector<std::vector<Bytes>> expected;
    for (size_t i = 0; i < programs_.size(); ++i) expected.push_back(run_interpreted(programs_[i], data_[i]));
#if TW_LLVM
    for (const int opt_level : {0, 3})
      compare_all(expected, codegen::llvm_kernels(programs_, on_, opt_level).value_or_throw(),
                  "LLVM at O" + std::to_string(opt_level));
#endif
    if (!codegen::has_c_compiler()) GTEST_SKIP() << "C skipped: no C compiler";
    Target c = on_;
    c.kind = "c";
    for (const auto& [opt_level, flag] : {std::pair{3, "-DTW_VECTORS=1"}, {0, "-DTW_VECTORS=0"}})
      compare_all(expected, codegen::c_kernels(programs_, c, opt_level, {flag}).value_or_throw(),
                  std::string("C with ") + flag);
  }

 private:
  using Kernels = std::vector<std::shared_ptr<const runtime::Kernel>>;

  void compare_all(const std::vector<std::vector<Bytes>>& expected, const Kernels& kernels,
                   const std::string& who) const {
    for (size_t i = 0; i < programs_.size(); ++i) {
      std::vector<Bytes> got = data_[i];
      std::vector<void*> pointers;
      for (Bytes& bytes : got) pointers.push_back(bytes.data());
      EXPECT_EQ(kernels[i]->run(pointers.data()), 0);
      EXPECT_EQ(difference(programs_[i], expected[i], got), "") << who << "\n" << to_string(programs_[i]);
    }
  }

  Target on_ = native();
  std::vector<ir::Program> programs_;
  std::vector<std::vector<Bytes>> data_;
};

TEST(CodegenAgreement, Arithmetic) {
  Cases cases;
  for (Type type : kIntegers)
    for (BinOp op : {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kMin, BinOp::kMax, BinOp::kBitAnd, BinOp::kBitOr,
                     BinOp::kBitXor, BinOp::kShl, BinOp::kShr})
      cases.add(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
  for (Type type : kFloats) {
    for (BinOp op : {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kDiv, BinOp::kMin, BinOp::kMax})
      cases.add(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
    cases.add(type, [&](Expr a, Expr b) { return a * b + a - b * b; });
  }
  cases.expect_agreement();
}

// LLVM merges two comparisons with numbers into one as if neither had a NaN.
TEST(CodegenAgreement, LimitsInARow) {
  Cases cases;
  const auto limited = [](BinOp op, const Expr& x, double number, bool on_the_left) {
    const Expr limit = ir::float_imm(x.type(), number);
    return on_the_left ? ir::binary(op, limit, x) : ir::binary(op, x, limit);
  };
  for (Type type : {Type::f(32), Type::f(64)})
    for (const BinOp inner : {BinOp::kMin, BinOp::kMax})
      for (const BinOp outer : {BinOp::kMin, BinOp::kMax})
        for (const double second : {1.5, 2.5, 7.0})
          for (const int sides : {0, 1, 2, 3})
            cases.add(type, [&](Expr a, Expr) {
              return limited(outer, limited(inner, a, 2.5, sides & 1), second, sides & 2);
            });
  cases.expect_agreement();
}

TEST(CodegenAgreement, Division) {
  Cases cases;
  for (Type type : kIntegers)
    for (BinOp op : {BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod}) {
      cases.add(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
      for (int64_t divisor : {-8, -1, 0, 1, 3, 16})
        cases.add(type, [&](Expr a, Expr) { return ir::binary(op, a, ir::int_imm(a.type(), divisor)); });
    }
  cases.expect_agreement();
}

TEST(CodegenAgreement, ComparisonsAndLogic) {
  Cases cases;
  for (Type type : all_types()) {
    for (BinOp op : {BinOp::kEq, BinOp::kNe, BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe})
      cases.add(type, [&](Expr a, Expr b) { return ir::binary(op, a, b); });
    cases.add(type, [](Expr a, Expr b) { return ir::select(ir::logical_not(a < b) || ir::eq(a, b), a, b); });
  }
  cases.add(Type::boolean(), [](Expr a, Expr b) { return (ir::logical_not(a) && b) || (a && ir::logical_not(b)); });
  cases.expect_agreement();
}

TEST(CodegenAgreement, CastsOfFloatsBesideTheEndsOfIntegers) {
  Cases cases;
  for (Type from : {Type::f(32), Type::f(64)})
    for (Type to : all_types()) {
      if (to.is_float() || to.is_bool()) continue;
      const double end = std::ldexp(1.0, to.is_uint() ? to.bits : to.bits - 1);
      const double last_place = std::max(1.0, std::ldexp(end, from.bits == 32 ? -24 : -53));
      for (double at : {end, -end, end - last_place})
        cases.add(from, [&](Expr a, Expr) {
          const auto real = [&](double x) { return ir::broadcast(ir::float_imm(from, x), a.type().lanes); };
          return ir::cast(to.with_lanes(a.type().lanes), a * real(last_place) + real(at));
        });
    }
  cases.expect_agreement();
}

TEST(CodegenAgreement, CastsBetweenAllTypes) {
  Cases cases;
  for (Type from : all_types())
    for (Type to : all_types())
      cases.add(from, [&](Expr a, Expr) { return ir::cast(to.with_lanes(a.type().lanes), a); });
  for (Type from : {Type::i(8), Type::u(8), Type::i(16), Type::u(16)})  // sums stay narrow on their way to a wide type
    for (Type to : {Type::i(32), Type::u(32), Type::i(64), Type::u(64)})
      cases.add(from, [&](Expr a, Expr b) {
        const Type wide = to.with_lanes(a.type().lanes);
        return ir::cast(wide, a * b + a) * ir::cast(wide, b - a);
      });
  for (Type from : {Type::i(8), Type::u(8), Type::i(16), Type::u(16)})  // and on their way to one between them and int
    for (Type to : {Type::i(8), Type::u(8), Type::i(16), Type::u(16)})
      cases.add(from, [&](Expr a, Expr b) { return ir::cast(to.with_lanes(a.type().lanes), a * b + a); });
  cases.expect_agreement();
}

TEST(CodegenAgreement, Functions) {
  Cases cases;
  for (Type type : kFloats) {
    for (Fn fn : {Fn::kSqrt, Fn::kRsqrt, Fn::kAbs,     Fn::kFloor, Fn::kCeil,  Fn::kRound, Fn::kTrunc, Fn::kExp,
                  Fn::kLog,  Fn::kTanh,  Fn::kSigmoid, Fn::kErf,   Fn::kSin,   Fn::kCos,   Fn::kTan,   Fn::kAtan,
                  Fn::kLog2, Fn::kExp2,  Fn::kLog10,   Fn::kExpm1, Fn::kLog1p, Fn::kCbrt,  Fn::kIsNan, Fn::kIsInf})
      cases.add(type, [&](Expr a, Expr) { return ir::call(fn, {a}); });
    cases.add(type, [&](Expr a, Expr b) { return ir::call(Fn::kPow, {a, b}); });
  }
  cases.add(Type::f(32), [](Expr a, Expr b) { return ir::call(Fn::kTF32, {a * b}); });
  for (Type type : kIntegers)
    for (Fn fn : {Fn::kAbs, Fn::kPopcount, Fn::kClz}) cases.add(type, [&](Expr a, Expr) { return ir::call(fn, {a}); });
  for (const auto& [from, to] : {std::pair{Type::f(32), Type::i(32)},
                                 {Type::u(32), Type::f(32)},
                                 {Type::f(64), Type::u(64)},
                                 {Type::i(16), Type::u(16)},
                                 {Type::i(16), Type::f(16)}})
    cases.add(from, [to = to](Expr a, Expr) { return ir::reinterpret(to.with_lanes(a.type().lanes), a); });
  cases.expect_agreement();
}

// Deterministic floats: sums of them are exact.
Bytes quarters(int count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i * 37 % 64) / 4 - 8;
  return bytes_of(values);
}

TEST(CodegenAgreement, DotProducts) {
  const ir::Program p = parse(
      R"(kernel k(A: uint8[64], B: int8[64], P: bfloat16[32], Q: bfloat16[32], C: out int32[32], D: out int32[8], E: out float32[32], F: out int32[16], G: out float32[8], H: out int32[4], I: out float32[4]):
  C[0 : 16] = dot_u8i8(broadcast(7i32, 16), A[0 : 64], B[0 : 64])
  C[16 : 16] = dot_u8i8(C[0 : 16], A[8 : 4], B[0 : 64])
  D[0 : 8] = dot_u8i8_sat(broadcast(-3i32, 8), A[32 : 32], B[0 : 32])
  E[0 : 16] = dot_bf16(broadcast(0.125, 16), P[0 : 32], Q[0 : 32])
  E[16 : 16] = dot_bf16(E[0 : 16], P[4 : 2], Q[0 : 32])
  H[0 : 4] = mat_i8i8(broadcast(7i32, 4), B[16 : 16], B[0 : 16])
  I[0 : 4] = mat_bf16_odd(broadcast(0.125, 4), P[0 : 8], Q[0 : 8])
  G[0 : 4] = dot_bf16_odd(broadcast(0.125, 4), P[0 : 8], Q[0 : 8])
  G[4 : 4] = dot_bf16_odd(G[0 : 4], P[4 : 2], Q[8 : 8])
  F[0 : 4] = dot_i8i8(broadcast(7i32, 4), B[16 : 16], B[0 : 16])
  F[4 : 4] = dot_i8i8(F[0 : 4], B[8 : 4], B[0 : 16])
  F[8 : 4] = dot_u8u8(broadcast(-7i32, 4), A[16 : 16], A[0 : 16])
  F[12 : 4] = dot_u8u8(F[8 : 4], A[8 : 4], A[0 : 16])
)");
  std::mt19937_64 random(3);
  Cases cases;
  for (int round = 0; round < 4; ++round) {
    std::vector<Bytes> data;
    for (const ir::Param& param : p.params) {
      Bytes bytes(static_cast<size_t>(*ir::as_int(param.buffer.shape()[0]) * param.buffer.element().bytes()));
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
      data.push_back(std::move(bytes));
    }
    cases.add(p, std::move(data));
  }
  cases.expect_agreement();
}

// 2^-126 and a bit more, and products that take less than half of a last bit off it, or about that.
TEST(CodegenAgreement, DotProductsNearTheLeastNumber) {
  const ir::Program p = parse(R"(kernel k(S: float32[16], P: bfloat16[32], Q: bfloat16[32], C: out float32[16]):
  C[0 : 16] = dot_bf16(S[0 : 16], P[0 : 32], Q[0 : 32])
)");
  std::mt19937_64 random(5);
  Cases cases;
  for (int round = 0; round < 20; ++round) {
    std::vector<Bytes> data = {Bytes(64), Bytes(64), Bytes(64), Bytes(64)};
    for (int lane = 0; lane < 16; ++lane) {
      const uint64_t bits = random();
      const auto sum = static_cast<uint32_t>(0x00800000 | (bits & 3) | (bits >> 8 & 1) << 31);
      const auto left = static_cast<uint32_t>((127 - 70) << 7 | (bits >> 16 & 0x7f) | (~bits >> 8 & 1) << 15);
      const auto right = static_cast<uint32_t>((127 - 82 + bits / 65536 / 128 % 4) << 7 | (bits >> 32 & 0x7f));
      std::memcpy(&data[0][static_cast<size_t>(4 * lane)], &sum, 4);
      std::memcpy(&data[1][static_cast<size_t>(4 * lane)], &left, 4);
      std::memcpy(&data[2][static_cast<size_t>(4 * lane)], &right, 4);
    }
    cases.add(p, std::move(data));
  }
  cases.expect_agreement();
}

TEST(CodegenAgreement, LoopsMasksAndScratch) {
  const char* const texts[] = {
      R"(kernel k(A: float32[70], C: out float32[70]):
  for io in 0..5:
    C[io * 16 : 16] = A[io * 16 : 16 where lanes(16) < 70 - io * 16] * 2.0 where lanes(16) < 70 - io * 16
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  for i in 0..70:
    C[i] = select(i < 2 or i > 67, 0.0, A[i - 2] + (let x = A[i + 2], y = x * x in x + y * y))
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  for i in 0..70:
    if i > 0 and A[i - 1] > 1.0:
      C[i] = A[i where i < 40] + 1.0
    else:
      C[i] = 0.0
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  C[0 : 16] = A[0 : 16]
  C[16 : 16] = A[ramp(15, -1, 16)]
  C[1 : 16] = C[0 : 16] + C[ramp(16, -1, 16)]
  C[0 : 16] = C[1 : 16] * broadcast(C[3], 16)
  C[ramp(32, 2, 16)] = C[ramp(0, 0, 16)]
  C[ramp(33, 2, 16)] = C[ramp(0, 2, 16)]
  C[64 : 6] = A[64 : 6]
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  alloc g: float32[70] global
  for i in 0..70 parallel:
    g[i] = A[69 - i]
  for o in 0..2:
    let x = A[o]
    for i in 0..35 parallel:
      alloc t: float32[32] local
      t[0 : 16] = A[0 : 16] * x
      t[16 : 16] = t[0 : 16] + 1.0
      for j in 0..min(i, 3):
        t[16 : 16] = t[16 : 16] * t[0 : 16]
      C[o * 35 + i] = g[o * 35 + i] + t[(o * 35 + i) % 32]
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  alloc t: float32[48] local
  t[0 : 16] = A[0 : 16]
  t[16 : 16] = A[16 : 16] where lanes(16) < 9
  for j in 0..3:
    t[16 : 16] = t[16 : 16 where lanes(16) < 9] * 2.0 where lanes(16) < 9
  t[32 : 16] = t[0 : 16] + t[16 : 16 where lanes(16) < 9]
  C[0 : 16] = t[32 : 16]
  for j in 0..54:
    C[j + 16] = A[j]
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  let n = select(A[0] < 1.0, 3, 4)
  for i in 0..70 parallel:
    alloc t: float32[n * 2] global
    t[0] = A[i]
    C[i] = t[0] + A[69 - i]
)",
      R"(kernel k(A: float32[70], C: out float32[70]):
  for i in 0..70 parallel:
    prefetch(address(in A[i]))
    prefetch_l2(address(out C[i]))
    C[i] = call_pure(float32, "fminf", A[i], 2.0) + call_pure(float32, "fmaxf", A[69 - i], 1.0)
)",
      R"(kernel k(A: float32[70], C: out nontemporal float32[70]):
  C[0 : 4] = A[0 : 4]
  for i in 0..4 parallel:
    C[ramp(i * 16 + 4, 1, 16)] = A[ramp(i * 16 + 4, 1, 16)] * 2.0
  C[68 : 2] = A[68 : 2]
)"};
  Cases cases;
  for (const char* text : texts) cases.add(parse(text), {quarters(70), quarters(70)});
  cases.expect_agreement();
}

}  // namespace
}  // namespace tw
