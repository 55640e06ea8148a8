// The interpreter: the meaning of ir.h on small programs, and each mistake that it finds.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "src/ir/interp.h"
#include "src/ir/interp_value.h"
#include "src/ir/simplify.h"
#include "tensorwright/externs.h"

namespace tw::ir {
namespace {

const Type kF32 = Type::f(32);

template <class T>
InterpBuffer bytes_of(std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

Expr f32(double v) { return float_imm(kF32, v); }

Program program(std::vector<Param> params, Stmt body) { return {"test", std::move(params), std::move(body)}; }

Status run(const Program& p, std::vector<InterpBuffer> buffers, InterpOptions options = {}) {
  return interpret(p, buffers, options);
}

std::string message(const Status& s) { return s.ok() ? "" : s.error().render(); }

#define EXPECT_FAULT(status, text)                                     \
  do {                                                                 \
    const std::string said = message(status);                          \
    EXPECT_NE(said.find(text), std::string::npos) << "said: " << said; \
  } while (false)

struct Interpreter : testing::Test {
  Buffer A{"A", kF32, {8}, Scope::kArgument}, B{"B", kF32, {8}, Scope::kArgument};
  Var i{"i"}, j{"j"}, k{"k"};
  std::vector<float> a{0, 1, 2, 3, 4, 5, 6, 7}, b = std::vector<float>(8, -1);

  Status run_ab(const Stmt& body) { return run(program({{A}, {B, true}}, body), {bytes_of(a), bytes_of(b)}); }

  // The value of a scalar expression over nothing.
  template <class T>
  T value(const Expr& e) {
    const Buffer out("out", e.type(), {1}, Scope::kArgument);
    std::vector<T> got(1);
    EXPECT_EQ(message(run(program({{out, true}}, store(out, {0}, e)), {bytes_of(got)})), "");
    return got[0];
  }
};

TEST_F(Interpreter, ReductionsInsideExpressions) {
  const Buffer X("X", kF32, {3, 4}, Scope::kArgument), Y("Y", kF32, {4, 2}, Scope::kArgument),
      C("C", kF32, {3, 2}, Scope::kArgument);
  std::vector<float> x(12), y(8), c(6, -1);
  for (int n = 0; n < 12; ++n) x[n] = n;
  for (int n = 0; n < 8; ++n) y[n] = n * n;
  const Expr sum = reduce(ReduceOp::kSum, load(X, {i, k}) * load(Y, {k, j}), {{k, 0, 4}});
  const Program p = program({{X}, {Y}, {C, true}}, loop(i, 3, loop(j, 2, store(C, {i, j}, sum))));
  ASSERT_EQ(message(run(p, {bytes_of(x), bytes_of(y), bytes_of(c)})), "");
  for (int r = 0; r < 3; ++r) {
    for (int s = 0; s < 2; ++s) {
      float want = 0;
      for (int t = 0; t < 4; ++t) want += x[r * 4 + t] * y[t * 2 + s];
      EXPECT_EQ(c[r * 2 + s], want);
    }
  }
}

TEST_F(Interpreter, EmptyReductionsGiveTheIdentity) {
  EXPECT_EQ(value<float>(reduce(ReduceOp::kMax, f32(3), {{k, 0, 0}})), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(value<int8_t>(reduce(ReduceOp::kMax, int_imm(Type::i(8), 3), {{k, 0, 0}})), -128);
  EXPECT_EQ(value<float>(reduce(ReduceOp::kProd, f32(3), {{k, 0, 0}})), 1.0f);
}

TEST_F(Interpreter, IntegersWrapAndDivideAsStated) {
  const auto c = [](Type t, int64_t v) { return int_imm(t, v); };
  const Type i8 = Type::i(8), i32 = Type::i(32), u8 = Type::u(8);
  EXPECT_EQ(value<int8_t>(c(i8, 127) + c(i8, 1)), -128);
  EXPECT_EQ(value<uint8_t>(c(u8, 3) - c(u8, 5)), 254);
  EXPECT_EQ(value<int32_t>(floordiv(c(i32, -7), c(i32, 2))), -4);
  EXPECT_EQ(value<int32_t>(floormod(c(i32, -7), c(i32, 2))), 1);
  EXPECT_EQ(value<int32_t>(binary(BinOp::kTruncDiv, c(i32, -7), c(i32, 2))), -3);
  EXPECT_EQ(value<int32_t>(binary(BinOp::kTruncMod, c(i32, -7), c(i32, 2))), -1);
  EXPECT_EQ(value<int32_t>(floordiv(c(i32, INT32_MIN), c(i32, -1))), INT32_MIN);
  EXPECT_EQ(value<int32_t>(floordiv(c(i32, 5), c(i32, 0))), 0);
  EXPECT_EQ(value<int64_t>(floormod(c(Type::i(64), INT64_MIN), c(Type::i(64), -1))), 0);
  EXPECT_EQ(value<int8_t>(binary(BinOp::kShr, c(i8, -128), c(i8, 9))), -64);
  EXPECT_EQ(value<uint8_t>(binary(BinOp::kShr, c(u8, 128), c(u8, 1))), 64);
}

TEST_F(Interpreter, CastsSaturate) {
  EXPECT_EQ(value<int32_t>(cast(Type::i(32), f32(1e20))), INT32_MAX);
  EXPECT_EQ(value<int8_t>(cast(Type::i(8), f32(-1e20))), -128);
  EXPECT_EQ(value<uint8_t>(cast(Type::u(8), f32(-3))), 0);
  EXPECT_EQ(value<int32_t>(cast(Type::i(32), f32(std::nan("")))), 0);
  EXPECT_EQ(value<int32_t>(cast(Type::i(32), f32(-2.9))), -2);
  EXPECT_EQ(value<int8_t>(cast(Type::i(8), int_imm(Type::i(32), 300))), 44);
}

TEST_F(Interpreter, WideValuesRoundToHalvesOnce) {
  const double just_below_a_tie = 0x1.bdbfffffffff9p-15;
  EXPECT_EQ(value<uint16_t>(cast(Type::f(16), float_imm(Type::f(64), just_below_a_tie))), 891);
}

TEST_F(Interpreter, MinAndMaxYieldTheSecondOperandForNaN) {
  EXPECT_EQ(value<float>(min(f32(std::nan("")), f32(1))), 1.0f);
  EXPECT_TRUE(std::isnan(value<float>(max(f32(1), f32(std::nan(""))))));
}

TEST_F(Interpreter, HalvesRoundAfterEachOperation) {
  const Type f16 = Type::f(16), bf16 = Type::bf16();
  EXPECT_EQ(value<uint16_t>(float_imm(f16, 2048) + float_imm(f16, 1)), 0x6800);  // 2049 is a tie: to even
  EXPECT_EQ(value<uint16_t>(float_imm(f16, 1.5)), 0x3e00);
  EXPECT_EQ(value<uint16_t>(float_imm(f16, std::ldexp(1, -24))), 1);
  EXPECT_EQ(value<uint16_t>(float_imm(f16, 65504) + float_imm(f16, 65504)), 0x7c00);
  EXPECT_EQ(value<uint16_t>(float_imm(bf16, -2)), 0xc000);
  EXPECT_EQ(value<float>(cast(kF32, float_imm(bf16, 256) + float_imm(bf16, 1))), 256.0f);
  EXPECT_EQ(value<uint16_t>(reinterpret(Type::u(16), float_imm(f16, 1))), 0x3c00);
}

TEST_F(Interpreter, EveryHalfPatternSurvivesMemory) {
  for (const Type t : {Type::f(16), Type::bf16()}) {
    const Buffer in("in", t, {65536}, Scope::kArgument), out("out", t, {65536}, Scope::kArgument);
    std::vector<uint16_t> x(65536), y(65536);
    for (int n = 0; n < 65536; ++n) x[n] = static_cast<uint16_t>(n);
    ASSERT_EQ(message(run(program({{in}, {out, true}}, loop(i, 65536, store(out, {i}, load(in, {i})))),
                          {bytes_of(x), bytes_of(y)})),
              "");
    const int infinity = t == Type::f(16) ? 0x7c00 : 0x7f80;
    for (int n = 0; n < 65536; ++n) {
      if ((n & 0x7fff) <= infinity) {
        ASSERT_EQ(y[n], n) << to_string(t);
      }
    }
  }
}

TEST_F(Interpreter, FunctionsAreRoundedFromWiderOnes) {
  EXPECT_EQ(value<float>(call(Fn::kExp, {f32(1)})), static_cast<float>(std::exp(1.0)));
  EXPECT_EQ(value<float>(call(Fn::kRound, {f32(2.5)})), 2.0f);
  EXPECT_EQ(value<float>(call(Fn::kPow, {f32(-2), f32(3)})), -8.0f);
  EXPECT_EQ(value<float>(call(Fn::kSigmoid, {f32(-1000)})), 0.0f);
  EXPECT_EQ(value<int32_t>(call(Fn::kAbs, {int_imm(Type::i(32), -5)})), 5);
  const float x = 1 + 0x1p-12f;
  EXPECT_EQ(value<float>(call(Fn::kFma, {f32(x), f32(x), f32(-1)})), std::fma(x, x, -1.0f));
}

TEST_F(Interpreter, OperandsThatAreNotNeededAreNotRead) {
  const Expr far = load(A, {Expr(i) + 100});
  EXPECT_EQ(message(run_ab(loop(i, 8, store(B, {i}, select(Expr(i) < 0, far, f32(1)))))), "");
  EXPECT_EQ(message(run_ab(loop(i, 8, if_then(Expr(i) < 0 && far < f32(1), store(B, {i}, f32(1)))))), "");
}

TEST_F(Interpreter, VectorsAndPredicates) {
  const Expr lanes = ramp(0, 1, 8);
  ASSERT_EQ(message(run_ab(store(B, {lanes}, load(A, {ramp(7, -1, 8)}) * broadcast(f32(2), 8)))), "");
  EXPECT_EQ(b, (std::vector<float>{14, 12, 10, 8, 6, 4, 2, 0}));
  b.assign(8, -1);
  const Expr mask = lanes < broadcast(3, 8);
  const Expr masked = load(A, {ramp(5, 1, 8)}, mask) + broadcast(f32(1), 8);
  ASSERT_EQ(message(run_ab(store(B, {lanes}, masked, ramp(0, 1, 8) < broadcast(5, 8)))), "");
  EXPECT_EQ(b, (std::vector<float>{6, 7, 8, 1, 1, -1, -1, -1}));
}

TEST_F(Interpreter, AVectorStoreReadsBeforeItWrites) {
  const Stmt fill = store(B, {ramp(0, 1, 8)}, load(A, {ramp(0, 1, 8)}));
  const Stmt shift = store(B, {ramp(1, 1, 7)}, load(B, {ramp(0, 1, 7)}));
  ASSERT_EQ(message(run_ab(seq({fill, shift}))), "");
  EXPECT_EQ(b, (std::vector<float>{0, 0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(Interpreter, LetsAndSharedNodes) {
  const Var t("t", kF32);
  const Expr twice = Expr(t) + Expr(t);
  const Expr both = let(t, load(A, {i}), twice) + let(t, f32(10), twice);
  ASSERT_EQ(message(run_ab(loop(i, 8, let_stmt(j, Expr(7) - i, store(B, {j}, both))))), "");
  EXPECT_EQ(b, (std::vector<float>{34, 32, 30, 28, 26, 24, 22, 20}));
  Expr diamond = load(A, {i});
  for (int n = 0; n < 60; ++n) diamond = diamond + diamond;
  EXPECT_EQ(message(run_ab(loop(i, 8, store(B, {i}, diamond)))), "");
  EXPECT_EQ(b[1], std::ldexp(1.0f, 60));
}

TEST_F(Interpreter, OneSubscriptIsAnOffsetAfterFlatten) {
  const Buffer M("M", kF32, {2, 4}, Scope::kArgument),
      flat(BufferNode{M.id(), "M", kF32, {8}, {}, Scope::kArgument, nullptr});
  ASSERT_EQ(
      message(run(program({{M}, {B, true}}, loop(i, 8, store(B, {i}, load(flat, {i})))), {bytes_of(a), bytes_of(b)})),
      "");
  EXPECT_EQ(b, a);
  EXPECT_FAULT(run(program({{M}, {B, true}}, store(B, {0}, load(flat, {8}))), {bytes_of(a), bytes_of(b)}),
               "M[8] is outside");
}

TEST_F(Interpreter, StridesOfParameters) {
  const Buffer T("T", kF32, {2, 4}, Scope::kArgument, {1, 2});
  ASSERT_EQ(message(run(program({{T}, {B, true}}, loop(i, 2, loop(j, 4, store(B, {Expr(i) * 4 + j}, load(T, {i, j}))))),
                        {bytes_of(a), bytes_of(b)})),
            "");
  EXPECT_EQ(b, (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST_F(Interpreter, FindsAccessesOutside) {
  const Status s = run_ab(loop(i, 9, store(B, {i}, load(A, {Expr(i) - 0}))));
  EXPECT_FAULT(s, "A[8] is outside of the buffer");
  EXPECT_FAULT(s, "the extent is 8");
  EXPECT_FAULT(s, "at i = 8");
  EXPECT_FAULT(run_ab(loop(i, 2, store(B, {Expr(i) - 1}, f32(0)))), "B[-1]");
  EXPECT_FAULT(run_ab(store(B, {ramp(1, 1, 8)}, broadcast(f32(0), 8))), "B[8]");
}

TEST_F(Interpreter, FindsReadsOfWhatNothingWrote) {
  const Buffer t("t", kF32, {8}, Scope::kLocal);
  EXPECT_FAULT(run_ab(allocate(t, seq({store(t, {0}, f32(1)), store(B, {0}, load(t, {1}))}))), "t[1] is read before");
  EXPECT_FAULT(run_ab(store(B, {0}, load(B, {3}))), "B[3] is read before");
  const Stmt inside = allocate(t, seq({if_then(eq(i, 0), store(t, {0}, f32(1))), store(B, {i}, load(t, {0}))}));
  EXPECT_FAULT(run_ab(loop(i, 2, inside)), "t[0] is read before");
}

TEST_F(Interpreter, FindsRaces) {
  const auto in_parallel = [&](const Stmt& body) { return loop(i, 4, body, ForKind::kParallel); };
  EXPECT_FAULT(run_ab(in_parallel(store(B, {0}, f32(1)))), "both write");
  EXPECT_FAULT(run_ab(seq({store(B, {0}, f32(0)), in_parallel(seq({store(B, {Expr(i) + 1}, load(B, {i}))}))})),
               "data race on B[1]");
  const Stmt backwards =
      in_parallel(if_then(Expr(i) < 3, store(B, {i}, load(B, {Expr(i) + 1})), store(B, {3}, f32(1))));
  EXPECT_FAULT(run_ab(seq({loop(j, 8, store(B, {j}, f32(0))), backwards})), "data race on B[1]");
}

// A function is given the memory and the element at which its part begins.
int32_t store_seven(float* memory, int32_t at) {
  memory[at] = 7;
  return 0;
}

int32_t copy_element(float* to, int32_t at, const float* from, int32_t from_at) {
  to[at] = from[from_at];
  return 0;
}

TEST_F(Interpreter, CallsThatShareAnAddressAreNoRace) {
  register_extern("store_seven", reinterpret_cast<void*>(store_seven));
  const Expr to = address_of(B, {0}, false, true), at = cast(Type::i(32), i);
  const Stmt call = evaluate(call_extern(Type::i(32), "store_seven", {to, at}));
  EXPECT_EQ(message(run_ab(loop(i, 8, seq({store(B, {i}, f32(1)), call}), ForKind::kParallel))), "");
  EXPECT_EQ(b, std::vector<float>(8, 7));
  register_extern("store_seven", nullptr);
}

TEST_F(Interpreter, CallsAreGivenTheElementOfTheirIteration) {
  register_extern("copy_element", reinterpret_cast<void*>(copy_element));
  const Expr at = cast(Type::i(32), Expr(i) * 1);
  const Expr to = address_of(B, {0}, false, true), from = address_of(A, {0}, true, false);
  EXPECT_EQ(message(run_ab(seq({loop(i, 8, store(B, {i}, f32(1))),
                                loop(i, 8, evaluate(call_extern(Type::i(32), "copy_element", {to, at, from, at})))}))),
            "");
  EXPECT_EQ(b, a);
  register_extern("copy_element", nullptr);
}

TEST_F(Interpreter, CallsFindAnElementByTheStridesOfItsMemory) {
  register_extern("store_seven", reinterpret_cast<void*>(store_seven));
  const Buffer t("t", kF32, {2}, Scope::kLocal, {Expr(4)});
  const Stmt call =
      evaluate(call_extern(Type::i(32), "store_seven", {address_of(t, {0}, true, true), int_imm(Type::i(32), 4)}));
  const Stmt fill = seq({store(t, {0}, f32(1)), store(t, {1}, f32(1)), call});
  EXPECT_EQ(message(run_ab(allocate(t, seq({fill, loop(i, 8, store(B, {i}, load(t, {1})))})))), "");
  EXPECT_EQ(b, std::vector<float>(8, 7));
  register_extern("store_seven", nullptr);
}

TEST_F(Interpreter, IterationsThatDoNotMeetAreNoRace) {
  const Buffer t("t", kF32, {1}, Scope::kLocal);
  const Stmt own = allocate(t, seq({store(t, {0}, load(A, {i})), store(B, {i}, load(t, {0}) + load(A, {0}))}));
  const Stmt once = loop(i, 8, own, ForKind::kParallel);
  EXPECT_EQ(message(run_ab(seq({once, store(B, {0}, load(B, {7}) + load(B, {0}))}))), "");
  const Stmt nested =
      loop(i, 4, loop(j, 2, store(B, {Expr(i) * 2 + j}, f32(1)), ForKind::kParallel), ForKind::kParallel);
  EXPECT_EQ(message(run_ab(loop(k, 3, nested))), "");
  const Stmt after =
      loop(i, 1, seq({loop(j, 8, store(B, {j}, f32(1)), ForKind::kParallel), store(B, {3}, load(B, {4}))}),
           ForKind::kParallel);
  EXPECT_EQ(message(run_ab(after)), "");
}

TEST_F(Interpreter, FindsRacesBetweenNestedLoops) {
  const Stmt inner = loop(j, 2, store(B, {j}, f32(1)), ForKind::kParallel);
  EXPECT_FAULT(run_ab(loop(i, 2, inner, ForKind::kParallel)), "data race on B[0]");
}

// Which elements share a byte is for the strides to say.
TEST_F(Interpreter, RowsOfHalvesThatBeginAtBytesDoNotRace) {
  const auto rows = [&](std::vector<Expr> strides) {
    BufferNode node = *Buffer("t", Type::i(4), {4, 5}, Scope::kGlobal).operator->();
    node.strides = std::move(strides);
    const Buffer t(std::move(node));
    const Stmt row = loop(j, 5, store(t, {i, j}, cast(Type::i(4), int_imm(Type::i(8), 3))));
    return allocate(t, seq({loop(i, 4, row, ForKind::kParallel), store(B, {0}, f32(1))}));
  };
  EXPECT_FAULT(run_ab(rows({})), "data race on t[1, 0]");
  EXPECT_EQ(message(run_ab(rows({6, 1}))), "");
}

TEST_F(Interpreter, FindsElementsThatAreGivenTwoValues) {
  const auto checked = [&](const Stmt& body) {
    return run(program({{A}, {B, true}}, body), {bytes_of(a), bytes_of(b)}, {.check_one_value = true});
  };
  const Stmt twice = loop(i, 2, loop(j, 8, store(B, {j}, load(A, {j}))));
  EXPECT_EQ(message(checked(twice)), "");
  EXPECT_FAULT(checked(loop(i, 2, loop(j, 8, store(B, {j}, load(A, {i}))))), "B[0] is written twice");
  EXPECT_FAULT(checked(loop(j, 7, store(B, {j}, f32(1)))), "B[7] of an output is never written");
  EXPECT_EQ(message(run(program({{A}, {B, true}}, loop(i, 2, loop(j, 8, store(B, {j}, load(A, {i}))))),
                        {bytes_of(a), bytes_of(b)}, {.check_one_value = true, .changing = {"B"}})),
            "");
  const Stmt sum = loop(i, 8, seq({store(B, {i}, f32(0)), loop(j, 8, store(B, {i}, load(B, {i}) + load(A, {j})))}));
  EXPECT_EQ(message(checked(sum)), "");
  const Stmt scan = loop(i, 8, store(B, {i}, select(Expr(i) < 1, f32(0), load(B, {max(Expr(i) - 1, 0)}) + f32(1))));
  EXPECT_EQ(message(checked(seq({store(B, {0}, f32(0)), scan}))), "");
  EXPECT_FAULT(checked(seq({store(B, {0}, f32(3)), scan})), "B[0] is written twice");
}

TEST_F(Interpreter, ChecksItsArguments) {
  const Status s = run(program({{A}, {B, true}}, seq({})), {bytes_of(a)});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().kind, ErrorKind::kArgument);
  EXPECT_FAULT(s, "takes 2 buffers, not 1");
  std::vector<float> small(7);
  EXPECT_FAULT(run(program({{A}, {B, true}}, seq({})), {bytes_of(small), bytes_of(b)}), "A must have 32 bytes, not 28");
}

TEST_F(Interpreter, StopsWhenToldTo) {
  InterpOptions options;
  options.max_steps = 100;
  const Program p = program({{B, true}}, loop(i, 1000000000, store(B, {0}, f32(1))));
  EXPECT_FAULT(run(p, {bytes_of(b)}, options), "stopped after 100 steps");
  const Stmt never = if_then(Expr(i) < 0, store(B, {0}, f32(1)));
  EXPECT_FAULT(run(program({{B, true}}, loop(i, 1000000000, never)), {bytes_of(b)}, options),
               "stopped after 100 steps");
}

// What it would fill takes as long as what it would store, and need not be there.
TEST_F(Interpreter, StopsBeforeItMakesTooMuchMemory) {
  InterpOptions options;
  options.max_steps = 1000;
  const auto said = [&](int64_t elements) {
    const Buffer t("t", kF32, {elements}, Scope::kLocal);
    return message(run(program({{B, true}}, allocate(t, store(B, {0}, f32(1)))), {bytes_of(b)}, options));
  };
  EXPECT_EQ(said(7000), "");
  EXPECT_NE(said(int64_t{1} << 33).find("stopped after 1000 steps"), std::string::npos);
}

// Random data expressions of each type: simplified and as written give the same bits.
class RandomData {
 public:
  RandomData(Type t, Buffer from, Var at, uint64_t seed)
      : t_(t), from_(std::move(from)), at_(std::move(at)), generator_(seed) {}

  Expr expression(int depth) {
    if (depth == 0) return between(0, 2) ? load(from_, {floormod(Expr(at_) + between(0, 7), 16)}) : constant();
    const Expr a = expression(depth - 1), b = expression(depth - 1);
    switch (between(0, 9)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return t_.is_float() ? binary(BinOp::kDiv, a, b) : floordiv(a, b);
      case 4:
        return t_.is_float() ? call(Fn::kAbs, {a}) : floormod(a, b);
      case 5:
        return min(a, b);
      case 6:
        return max(a, b);
      case 7:
        return select(condition(a, b), a, expression(depth - 1));
      case 8:
        return through(a);
      default:
        return t_.is_float() ? a + constant() : binary(kBits[between(0, 4)], a, b);
    }
  }

 private:
  static constexpr BinOp kBits[] = {BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShl, BinOp::kShr};
  static constexpr BinOp kComparisons[] = {BinOp::kEq, BinOp::kNe, BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe};

  int between(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(generator_); }
  Expr constant() { return imm(t_, t_.is_uint() ? between(0, 3) : between(-2, 3)); }
  Expr condition(const Expr& a, const Expr& b) {
    const Expr c = binary(kComparisons[between(0, 5)], a, b);
    return between(0, 2) ? c : between(0, 1) ? logical_not(c) : (c && Expr(at_) < between(0, 16));
  }
  Expr through(const Expr& a) {
    static const Type kTypes[] = {Type::i(8),  Type::u(16), Type::i(32), Type::i(64),
                                  Type::u(64), Type::f(32), Type::f(64), Type::index()};
    return cast(t_, cast(kTypes[between(0, 7)], a));
  }

  Type t_;
  Buffer from_;
  Var at_;
  std::mt19937_64 generator_;
};

TEST(Random, DataExpressionsKeepTheirBits) {
  const Type types[] = {Type::i(8),  Type::u(8),  Type::i(32),  Type::u(32), Type::i(64),
                        Type::u(64), Type::f(16), Type::bf16(), Type::f(32), Type::f(64)};
  for (const Type t : types) {
    const Buffer in("in", t, {16}, Scope::kArgument), out("out", t, {16}, Scope::kArgument);
    const Var i("i");
    RandomData random(t, in, i, 7);
    std::mt19937_64 generator(8);
    const size_t size = static_cast<size_t>(16 * t.bytes());
    std::vector<char> x(size), as_written(size), simplified(size);
    for (int n = 0; n < 400; ++n) {
      // Patterns of all kinds: NaN, infinities, denormals; every other time small numbers.
      for (char& byte : x) byte = static_cast<char>(n % 2 ? generator() : generator() % 3);
      const Stmt body = loop(i, 16, store(out, {i}, random.expression(4)));
      ASSERT_EQ(message(run(program({{in}, {out, true}}, body), {bytes_of(x), bytes_of(as_written)})), "");
      ASSERT_EQ(message(run(program({{in}, {out, true}}, simplify(body)), {bytes_of(x), bytes_of(simplified)})), "");
      ASSERT_EQ(as_written, simplified) << to_string(body) << to_string(simplify(body));
    }
  }
}

TEST(Scalars, NumbersAreRoundedToTheTypeWrittenAndReadBack) {
  const auto stored = [](Type t, double number) {
    unsigned char memory[16] = {};
    const int64_t second = 1;
    interp::write_function(t)(memory, second, interp::value_of(number, t));
    return interp::number_of(interp::read_function(t)(memory, second), t);
  };
  for (const Type t : {Type::f(16), Type::bf16(), Type::f(32), Type::f(64), Type::e4m3(), Type::e5m2()})
    for (const double number : {0.0, 1.0, -0.375, 0.1, 100.7}) EXPECT_EQ(stored(t, number), round_to(t, number));
  for (const int bits : {4, 8, 16, 32, 64}) {
    EXPECT_EQ(stored(Type::i(bits), -7), -7);
    EXPECT_EQ(stored(Type::u(bits), 15.9), 15) << "without its fraction";
  }
  EXPECT_EQ(stored(Type::u(8), 200), 200);
  EXPECT_EQ(stored(Type::boolean(), 1), 1);
  EXPECT_EQ(interp::number_of(interp::value_of(-1, Type::i(64)), Type::u(64)), 0x1p64);
  EXPECT_TRUE(std::isnan(stored(Type::e4m3(), 1000))) << "beyond the largest";
}

}  // namespace
}  // namespace tw::ir
