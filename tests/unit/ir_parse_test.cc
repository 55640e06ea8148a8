// parse(print(p)) == p for random programs of every construct; every text ends in a program or a Diagnostic.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "src/ir/equal.h"
#include "src/ir/parse.h"
#include "tests/unit/depth.h"
#include "tests/unit/random_ir.h"

namespace tw::ir {
namespace {

std::string error_of(std::string_view text) {
  const Result<Program> p = parse_program(text);
  return p ? "" : p.error().render();
}

void expect_round_trip(const Program& p) {
  const std::string text = to_string(p);
  const Result<Program> back = parse_program(text);
  ASSERT_TRUE(back.ok()) << back.error().render() << "\n" << text;
  ASSERT_TRUE(equal(*back, p)) << text << "\nbecame\n" << to_string(*back);
  ASSERT_EQ(to_string(*back), text);
}

TEST(IrParse, RandomProgramsRoundTrip) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_round_trip(RandomProgram(seed).make());
    if (HasFatalFailure()) return;
  }
}

TEST(IrParse, FloatsAreRoundedOnceAndSaturate) {
  const auto value = [](const std::string& text) {
    const Result<Program> p = parse_program("kernel f(C: out float64[]):\n  C[] = float64(" + text + ")\n");
    return as<FloatImm>(as<Cast>(as<Store>(p->body)->value)->value)->value;
  };
  EXPECT_EQ(value("16777217.000000001"), 16777218.0);  // float64 would drop the last digit and then round down
  EXPECT_EQ(value("2049.0000000001f16"), 2050.0);
  EXPECT_EQ(value("1e39"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("1e-60"), 0.0);
  EXPECT_EQ(value("70000.0f16"), std::numeric_limits<double>::infinity());
}

TEST(IrParse, SharedNodesInsideALetComeBackAsSharedNodes) {
  const Buffer c("C", Type::f(32), {}, Scope::kArgument);
  const Var t("t", Type::f(32));
  Expr e = t;
  for (int i = 0; i < 60; ++i) e = e * e + 1;  // 2^60 terms: only names keep the text short
  expect_round_trip({"f", {{c, true}}, store(c, {}, let(t, float_imm(Type::f(32), 0.5), e))});
}

TEST(IrParse, WhatIsKnownOfAParameterComesBack) {
  const Buffer b("B", Type::i(8), {2, 3}, Scope::kArgument), c("C", Type::i(8), {}, Scope::kArgument);
  Program p{"f",
            {{b, false, "[6] -> [i % 2, \"i\" // 2]", std::pair<int64_t, int64_t>{-64, 63}}, {c, true}},
            store(c, {}, load(b, {0, 1}))};
  EXPECT_EQ(to_string(p),
            "kernel f(B: int8[2, 3] packed \"[6] -> [i % 2, \\\"i\\\" // 2]\" range [-64, 63], C: out int8[]):\n"
            "  C[] = B[0, 1]\n");
  expect_round_trip(p);
  const Result<Program> back = parse_program(to_string(p));
  EXPECT_EQ(back->params[0].layout, p.params[0].layout);
  EXPECT_EQ(back->params[0].range, p.params[0].range);
  p.params[0].layout.clear();
  EXPECT_FALSE(equal(*back, p));
}

TEST(IrParse, HandWrittenTextMayBeLoose) {
  const Result<Program> p = parse_program(
      "# a comment\n"
      "kernel f(A: float32[8],\n"
      "         C: out float32[8]):   # parameters on two lines\n"
      "\n"
      "    for i in 0..8 serial:\n"
      "          C[i] = (A[i] + 1) * 2\n");
  ASSERT_TRUE(p.ok()) << p.error().render();
  EXPECT_EQ(to_string(*p),
            "kernel f(A: float32[8], C: out float32[8]):\n  for i in 0..8:\n    C[i] = (A[i] + 1.0) * 2.0\n");
}

TEST(IrParse, ErrorsNameTheirPlace) {
  EXPECT_EQ(error_of("kernel f(C: out float32[8]):\n  for i in 0..8:\n    C[i] = = 2\n"),
            "IR text, line 3, column 12: an expression expected, not '='\n"
            "        C[i] = = 2\n"
            "               ^");
  const auto expect_error = [](std::string_view body, std::string_view error) {
    const std::string text = "kernel f(A: float32[8], C: out float32[8]):\n" + std::string(body);
    EXPECT_NE(error_of(text).find(error), std::string::npos) << body << "\n" << error_of(text);
  };
  expect_error("  C[j] = 1\n", "line 2, column 5: j: no variable or buffer");
  expect_error("  C[0, 1] = 1\n", "column 3: C: 1 subscripts expected, not 2");
  expect_error("  C[0] = A[0] + 2.0f64\n", "+: operands of one type expected, not float32 and float64");
  expect_error("  A[0] = 1.0\n", "A: a parameter that is not an output is stored to");
  expect_error("  for i in 1..8:\n    C[i] = 1\n", "column 12: a loop from 0 expected");
  expect_error("  for i in 0..8:\n  C[i] = 1\n", "line 3, column 3: an indented statement expected");
  expect_error("  for i in 0..8:\n    C[i] = 1\n   C[0] = 1\n", "line 4, column 4");
  expect_error("  C[0] = select(1, 2.0, 3.0)\n", "select: a condition of type bool expected");
  expect_error("  C[0] = exp(3i32)\n", "exp: does not take int32");
  expect_error("  C[0] = float32(300u8)\n", "a value of uint8 expected, not 300");
  expect_error("  C[0 : 8] = broadcast(1.0, 4)\n", "C: a value of type float32x8 expected, not float32x4");
  expect_error("  C[0] = %1\n", "the number of a definition above expected");
  expect_error("  if 0 < 1 < 2:\n    pass\n", "a comparison of comparisons needs parentheses");
  expect_error("", "an indented statement expected");
  expect_error("  C[0] = 1.0 3\n", "the end of the line expected, not '3'");
  expect_error("\tC[0] = 1.0\n", "not a tab");
  expect_error("  let x = 1.0\n", "a statement expected");
  expect_error("  alloc t: float32[8] argument\n  pass\n", "local, shared or global expected");
  expect_error("  for i in 0..8 vectorised:\n    pass\n", "':' expected, not 'vectorised'");
}

TEST(IrParse, ErrorsShowWholeCharacters) {
  std::string snow;
  for (int n = 0; n < 60; ++n) snow += "\u2603";
  for (const std::string& before : {std::string(), std::string("a"), std::string("ab")}) {
    const auto found =
        ir::parse_program("kernel f(\"" + before + snow + "\" as A: nothing[4], \"" + snow + "\" as B: i):\n");
    ASSERT_FALSE(found.ok());
    const std::string& shown = found.error().notes.at(0);
    EXPECT_NE(static_cast<unsigned char>(shown.front()) & 0xc0, 0x80) << shown;
    EXPECT_EQ(std::ranges::count(shown, '\x83'), std::ranges::count(shown, '\xe2')) << shown;
  }
}

TEST(IrParse, NoTextCrashes) {
  const std::string text = to_string(RandomProgram(7).make());
  std::mt19937_64 rng(1);
  for (int i = 0; i < 6000; ++i) {
    std::string broken = text;
    for (int edits = 1 + static_cast<int>(rng() % 4); edits > 0; --edits) {
      const size_t at = rng() % broken.size();
      const char c = "()[]:,=%.\n\" ix09-e_#@\\\0\x80"[rng() % 24];
      switch (rng() % 4) {
        case 0:
          broken[at] = c;
          break;
        case 1:
          broken.insert(at, 1, c);
          break;
        case 2:
          broken.erase(at, 1 + rng() % 8);
          break;
        default:
          broken.insert(at, broken.substr(rng() % broken.size(), 12));
          break;
      }
      if (broken.empty()) broken = " ";
    }
    if (const Result<Program> p = parse_program(broken)) expect_round_trip(*p);
    if (HasFatalFailure()) return;
  }
}

TEST(IrParse, DepthIsBounded) {
  const std::string head = "kernel f(C: out float32[]):\n  C[] = ";
  const auto repeat = [](std::string_view piece, size_t times) {
    std::string all;
    for (size_t i = 0; i < times; ++i) all += piece;
    return all;
  };
  EXPECT_NE(error_of(head + repeat("(", 200000)).find("levels of nesting"), std::string::npos);
  EXPECT_NE(error_of(head + repeat("1.0 + ", 2000000)).find("words and signs"), std::string::npos);
  constexpr size_t kLevels = test::depth(40000), kTerms = test::depth(400000);
  EXPECT_EQ(error_of(head + repeat("(1.0 + ", kLevels) + "1.0" + repeat(")", kLevels) + "\n"), "");
  const Result<Program> sum = parse_program(head + repeat("1.0 + ", kTerms) + "1.0\n");
  ASSERT_TRUE(sum.ok()) << sum.error().render();
  EXPECT_GT(to_string(*sum).size(), 5 * kTerms);
  std::string lets = "kernel f(C: out float32[]):\n";
  for (int i = 0; i < 10000; ++i) lets += "  let x" + std::to_string(i) + " = 1.0\n";
  EXPECT_EQ(error_of(lets + "  C[] = x9999\n"), "");
}

TEST(IrParse, FiveThousandStatements) {
  const Buffer a("A", Type::f(32), {4096, 64}, Scope::kArgument), c("C", Type::f(32), {4096, 64}, Scope::kArgument);
  const Var io("io");
  std::vector<Stmt> stmts;
  for (int i = 0; i < 5000; ++i) {
    const std::vector<Expr> at = {Expr(io) * 6 + i % 6, ramp(i, 1, 16)};
    stmts.push_back(store(c, at, call(Fn::kFma, {load(a, at), broadcast(load(a, {io, Expr(i)}), 16), load(c, at)})));
  }
  expect_round_trip(Program{"f", {{a, false}, {c, true}}, loop(io, 8, seq(stmts))});
}

}  // namespace
}  // namespace tw::ir
