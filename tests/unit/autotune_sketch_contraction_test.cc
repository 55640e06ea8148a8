// Automatic spaces of contractions: what is claimed, and that random candidates compute right.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "autotune/sketch/sketch.h"
#include "schedule/loop_nest.h"
#include "schedule/to_python.h"
#include "tensorwright/build.h"
#include "tensorwright/ops.h"
#include "tests/unit/autotune_sketch_cases.h"

namespace tw::autotune {
namespace {

using namespace testing;

// "contraction: P C D" for each group, its members producers first.
std::vector<std::string> claims(const Args& args) {
  std::vector<std::string> texts;
  const sketch::Graph graph = sketch::analyse({args.back()}, Target::parse("llvm").value_or_throw());
  for (const sketch::Claim& claim : sketch::partition(graph, Target::parse("llvm").value_or_throw())) {
    std::string& text = texts.emplace_back(claim.rule->name) += ":";
    for (int member : claim.group.members) text += " " + graph.at(member).name;
  }
  return texts;
}

TEST(SketchContraction, PaddingAndEpilogueBelongToOneGroup) {
  using Groups = std::vector<std::string>;
  EXPECT_EQ(claims(dense(8, 9, 10)), Groups{"contraction: C D"});
  EXPECT_EQ(claims(convolution({.size = 9, .in = 3, .out = 4, .kernel = 3, .pad = 1, .bias = true})),
            Groups{"contraction: P C D"});
  EXPECT_EQ(claims(matmul(9, 21, 4500)), Groups{"split_sum: C"});
  EXPECT_EQ(claims(matmul(3, 65, 256, true)), Groups{"few_rows: C"});
  EXPECT_EQ(claims(matmul(9, 65, 256, true)), Groups{"contraction: C"});
  EXPECT_EQ(claims(matmul(3, 65, 256)), Groups{"contraction: C"});
  EXPECT_EQ(claims(matmul(3, 65, 256, true, true)), Groups{"contraction: C"}) << "packed ahead";
}

constexpr int kCandidates = 60;  // of each expression; the fuzzer draws thousands of others

void expect_right(const Args& args, int candidates = kCandidates, const Target& target = Target::host()) {
  const Sampled sampled = sample(args, candidates, 1, target);
  EXPECT_TRUE(sampled.wrong.empty()) << sampled.wrong.size() << " are wrong, as " << sampled.wrong[0];
  EXPECT_LE(sampled.refused, fewer(candidates) / 4) << sampled.refusals[0];
}

constexpr int kFew = 16;

// Of a space that takes tiles. They are multiplied row by row where this CPU has none.
void expect_right_tiles(const Args& args) {
  const Target with = Target::parse("interp -mcpu=sapphirerapids").value_or_throw();
  expect_right(args, kFew, with);
  EXPECT_NE(schedule::to_python(task_of(args, with).candidate(0).value_or_throw().schedule).find("\"amx."),
            std::string::npos);
}

// A @ B in which an operand is made of an input and of a vector.
struct Prologue {
  const char* of = "A";       // or B, or both
  bool transposed = false;    // B[j, k]
  bool costs = false;         // exp of the input
  bool twice = false;         // what is made of A is multiplied with itself
  bool concatenated = false;  // two inputs side by side
};

Args with_prologue(int m, int n, int k, const Prologue& p) {
  const bool left = std::string(p.of) != "B", right = std::string(p.of) != "A";
  const std::vector<Expr> shape = p.transposed ? std::vector<Expr>{n, k} : std::vector<Expr>{k, n};
  const Tensor A = te::placeholder({m, k}, "float32", "A"), B = te::placeholder(shape, "float32", "B"),
               S = te::placeholder({k}, "float32", "S"), Z = te::placeholder({m, 3}, "float32", "Z");
  const auto made_left = [&](Var i, Var c) {
    if (p.concatenated) return te::if_then_else(Expr(c) < Expr(k - 3), A(i, c), Z(Expr(i), Expr(c) - Expr(k - 3)));
    return p.costs ? te::exp(A(i, c) * zero()) * S(c) : A(i, c) * S(c) + A(i, c);
  };
  const Tensor P = left ? te::compute({m, k}, made_left, "P") : A;
  const Tensor Q =
      right ? te::compute(shape, [&](Var r, Var c) { return B(r, c) * S(p.transposed ? c : r) - B(r, c); }, "Q") : B;
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  const Tensor C = te::compute(
      {m, p.twice ? m : n},
      [&](Var i, Var j) {
        if (p.twice) return te::sum(P(i, kk) * P(j, kk), {kk});
        return te::sum(P(i, kk) * (p.transposed ? Q(j, kk) : Q(kk, j)), {kk});
      },
      "C");
  Args args = {A};
  if (!p.twice) args.push_back(B);
  if (p.concatenated) args.push_back(Z);
  if (!p.concatenated || right) args.push_back(S);
  args.push_back(C);
  return args;
}

TEST(SketchContraction, ArithmeticOnAnOperandBelongsToTheGroup) {
  using Groups = std::vector<std::string>;
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {})), Groups{"contraction: P C"});
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {.of = "B"})), Groups{"contraction: Q C"});
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {.of = "both", .transposed = true})), Groups{"contraction: P Q C"});
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {.costs = true})), Groups{"contraction: P C"});
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {.concatenated = true})), Groups{"contraction: P C"});
  EXPECT_EQ(claims(with_prologue(40, 48, 24, {.twice = true})), (Groups{"pointwise: P", "contraction: C"}));
}

TEST(SketchContraction, PrologueOfTheBroadcastOperand) { expect_right(with_prologue(37, 75, 41, {}), kFew); }
TEST(SketchContraction, PrologueOfTheVectors) { expect_right(with_prologue(37, 75, 41, {.of = "B"}), kFew); }
TEST(SketchContraction, PrologueOfVectorsThatLieApart) {
  expect_right(with_prologue(37, 75, 41, {.of = "B", .transposed = true}), kFew);
}
TEST(SketchContraction, ProloguesOfBothOperands) { expect_right(with_prologue(37, 75, 41, {.of = "both"}), kFew); }
TEST(SketchContraction, ProloguesOfLongSumsInBlocks) {
  expect_right(with_prologue(23, 67, 1537, {.of = "both"}), kFew);
}
TEST(SketchContraction, PrologueThatCosts) { expect_right(with_prologue(37, 75, 41, {.costs = true}), kFew); }
TEST(SketchContraction, PrologueThatJoinsTwoInputs) {
  expect_right(with_prologue(37, 75, 41, {.concatenated = true}), kFew);
}
TEST(SketchContraction, ATensorTimesItselfTurned) {
  const Tensor A = te::placeholder({53, 41}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 41, "k");
  const Tensor G = te::compute({53, 53}, [&](Var i, Var j) { return te::sum(A(i, k) * A(j, k), {k}); }, "G");
  EXPECT_EQ(claims({A, G}), std::vector<std::string>{"contraction: G"});
  expect_right({A, G}, kFew);
}
TEST(SketchContraction, PrologueThatIsBothOperands) { expect_right(with_prologue(37, 75, 41, {.twice = true}), kFew); }

// a.T @ b: each term's rows are a line of their own.
Args with_turned_rows(int m, int n, int k) {
  const Tensor A = te::placeholder({k, m}, "float32", "A"), B = te::placeholder({k, n}, "float32", "B");
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  return {A, B, te::compute({m, n}, [&](Var i, Var j) { return te::sum(A(kk, i) * B(kk, j), {kk}); }, "C")};
}

TEST(SketchContraction, RowsThatLieAcrossAreCopied) {
  expect_right(with_turned_rows(37, 75, 41), kFew);
  expect_right(with_turned_rows(53, 64, 1537), kFew);
  const Target target = Target::parse("llvm -mcpu=haswell").value_or_throw();
  const std::string chosen = schedule::to_python(default_schedule({with_turned_rows(512, 512, 512).back()}, target));
  EXPECT_NE(chosen.find("s.cache_read(A, \"global\""), std::string::npos) << chosen;
}

// A sum of f(A[i, k], S[k], B[j, k]).
template <class F>
Args summed(int m, int n, int k, const F& f) {
  const Tensor A = te::placeholder({m, k}, "float32", "A"), B = te::placeholder({n, k}, "float32", "B"),
               S = te::placeholder({k}, "float32", "S");
  const te::IterVar kk = te::reduce_axis(0, k, "k");
  const Tensor C = te::compute({m, n}, [&](Var i, Var j) { return te::sum(f(A(i, kk), S(kk), B(j, kk)), {kk}); }, "C");
  return {A, B, S, C};
}

TEST(SketchContraction, ArithmeticInsideASumLeavesItAContraction) {
  const auto scaled = [](const Expr& a, const Expr& s, const Expr& b) { return a * s * b; };
  const auto centred = [](const Expr& a, const Expr& s, const Expr& b) { return (a - s) * b; };
  const auto distance = [](const Expr& a, const Expr& s, const Expr& b) { return te::abs(a - b) * s; };
  for (const Args& args : {summed(37, 75, 41, scaled), summed(37, 75, 41, centred), summed(37, 75, 41, distance)}) {
    EXPECT_EQ(claims(args), std::vector<std::string>{"contraction: C"});
    expect_right(args, kFew);
  }
}

TEST(SketchContraction, AReadOfEachTermIsNoOperand) {
  const Tensor A = te::placeholder({40, 24}, "float32", "A"), B = te::placeholder({24, 48}, "float32", "B"),
               M = te::placeholder({40, 48, 24}, "float32", "M");
  const te::IterVar k = te::reduce_axis(0, 24, "k");
  const Tensor C =
      te::compute({40, 48}, [&](Var i, Var j) { return te::sum(A(i, k) * B(k, j) * M(i, j, k), {k}); }, "C");
  EXPECT_NE(claims({C}), std::vector<std::string>{"contraction: C"});
}

// Rows of B a power of two apart share few sets of the caches.
TEST(SketchContraction, ProductsOfPowersOfTwoPackByDefault) {
  for (const char* target : {"llvm -mcpu=znver4", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4"})
    for (int n : {1024, 2048}) {
      const schedule::Schedule s = default_schedule({matmul(n, n, n).back()}, Target::parse(target).value_or_throw());
      EXPECT_GE(s.nest().find_stage("B.global"), 0) << target << ", " << n;
    }
}

TEST(SketchContraction, TwoLayersAreTwoGroups) {
  const Args first = dense(16, 24, 32);
  const Tensor W = te::placeholder({24, 40}, "float32", "W"), H = first.back();
  const te::IterVar q = te::reduce_axis(0, 24, "q");
  const Tensor O = te::compute({16, 40}, [&](Var i, Var j) { return te::sum(H(i, q) * W(q, j), {q}); }, "O");
  EXPECT_EQ(claims({O}), (std::vector<std::string>{"contraction: C D", "contraction: O"}));
}

void expect_refused(const Args& args, const std::string& reason) {
  try {
    task_of(args);
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kTune);
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
  }
}

TEST(SketchContraction, TasksThatHaveNoSpaceAreRefused) {
  const Tensor A = te::placeholder({4}, "float32", "A");
  expect_refused({A}, "one of the tensors must be computed; all are placeholders");
  const Tensor V = te::placeholder({te::var("n")}, "float32", "V");
  const Tensor B = te::compute({te::Expr(V.shape()[0])}, [&](Var i) { return V(i) + V(i); }, "B");
  expect_refused({V, B}, "a tensor expression must have known extents to be tuned; one of V is n");
}

TEST(SketchContraction, MatmulOfOddSizes) { expect_right(matmul(37, 75, 41)); }
TEST(SketchContraction, LongSumsInBlocks) { expect_right(matmul(70, 67, 1537)); }
// X @ W.T, and (W @ X.T) whose few rows are columns.
Args few_rows(const char* type, int rows, int columns, int terms, bool turned, bool epilogue) {
  const te::Tensor X = te::placeholder({rows, terms}, type, "X"), W = te::placeholder({columns, terms}, type, "W");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  const ir::Type sum = ir::Type::f(type == std::string("float64") ? 64 : 32);
  const auto product = [&](te::Var i, te::Var j) {
    const auto [row, column] = turned ? std::pair(j, i) : std::pair(i, j);
    return te::sum(ir::cast(sum, X(row, k)) * ir::cast(sum, W(column, k)), {k});
  };
  const std::vector<ir::Expr> shape =
      turned ? std::vector<ir::Expr>{columns, rows} : std::vector<ir::Expr>{rows, columns};
  const te::Tensor C = te::compute(shape, product, "C");
  if (!epilogue) return {X, W, C};
  return {X, W,
          te::compute(shape, [&](te::Var i, te::Var j) { return te::max(C(i, j), ir::cast(sum, ir::Expr(0))); }, "D")};
}

TEST(SketchContraction, FewRowsOfLongSums) {
  EXPECT_EQ(claims(few_rows("float32", 5, 70, 300, true, true)), std::vector<std::string>{"few_rows: C D"});
  for (const bool turned : {false, true}) expect_right(few_rows("float32", turned ? 8 : 5, 70, 300, turned, true));
  expect_right(few_rows("float64", 3, 67, 257, false, false), kFew);
  expect_right(few_rows("float16", 2, 64, 259, false, false), kFew);
  expect_right(few_rows("bfloat16", 4, 65, 256, false, false), kFew);
}

TEST(SketchContraction, ManyRowsGoAlongAllPanels) {
  const Args args = matmul(300, 50, 31);
  const std::string space = to_string(task_of(args, Target::parse("llvm -mcpu=x86-64-v3").value_or_throw()).space());
  EXPECT_NE(space.find("inside"), std::string::npos) << space;
  expect_right(args);
}

TEST(SketchContraction, FewOutputsOfLongSums) { expect_right(matmul(9, 21, 4500)); }
TEST(SketchContraction, TransposedWeights) { expect_right(matmul(21, 35, 19, true)); }
TEST(SketchContraction, WeightsPackedAhead) { expect_right(matmul(21, 83, 19, false, true)); }
TEST(SketchContraction, TransposedWeightsPackedAhead) { expect_right(matmul(21, 83, 19, true, true)); }
TEST(SketchContraction, EpilogueWithBiasAndResidual) { expect_right(dense(25, 67, 33)); }
TEST(SketchContraction, Batches) { expect_right(batch_matmul(3, 14, 37, 22)); }
TEST(SketchContraction, Convolution3x3) {
  expect_right(convolution({.size = 11, .in = 5, .out = 35, .kernel = 3, .pad = 1, .bias = true}));
}
TEST(SketchContraction, Convolution1x1) { expect_right(convolution({.size = 9, .in = 7, .out = 70, .kernel = 1})); }
TEST(SketchContraction, GroupedConvolution) {
  expect_right(
      te::ops::make("conv2d", {{"H", "9"}, {"W", "9"}, {"CI", "24"}, {"CO", "48"}, {"padding", "1"}, {"groups", "2"}})
          .args);
}
TEST(SketchContraction, StridedConvolution7x7) {
  expect_right(convolution({.size = 19, .in = 3, .out = 20, .kernel = 7, .stride = 2, .pad = 3, .batch = 2}));
}

// Lines of few rows, of which a tile has several.
TEST(SketchContraction, ShortLines) {
  const Args args = convolution({.size = 7, .in = 5, .out = 37, .kernel = 3, .pad = 1, .bias = true});
  expect_right(args, kFew, Target::parse("llvm -mcpu=x86-64-v3").value_or_throw());
  expect_right(args, kFew);
}
TEST(SketchContraction, ShortLinesOfLongSumsInBlocks) {
  expect_right(convolution({.size = 3, .in = 400, .out = 37, .kernel = 3, .pad = 1}), kFew);
}
TEST(SketchContraction, ShortLinesOfNarrowIntegers) {
  expect_right(
      te::ops::make("quantized_conv2d", {{"H", "5"}, {"W", "5"}, {"CI", "8"}, {"CO", "32"}, {"padding", "1"}}).args,
      kFew);
}

// Of the first candidate: the stages that are laid out in another order than they are declared in.
std::vector<std::string> turned(const Args& args) {
  std::vector<std::string> names;
  const Task task = task_of(args);
  for (const schedule::Step& step : task.steps(0).value_or_throw())
    if (const auto* layout = std::get_if<schedule::TransformLayout>(&step.kind)) names.push_back(layout->stage);
  return names;
}

Args channels_first(int size, std::map<std::string, std::string> more) {
  more.insert(
      {{"H", std::to_string(size)}, {"W", std::to_string(size)}, {"CI", "24"}, {"CO", "40"}, {"layout", "NCHW"}});
  return te::ops::make("conv2d", more).args;
}

Args few_columns() {
  return te::ops::make("matmul", {{"M", "90"}, {"N", "3"}, {"K", "21"}, {"transpose_a", "true"}}).args;
}

// Of x[n, c, h, w] and dy[n, o, h, w]: lanes are channels of dy, of which all windows read the same.
Args weight_gradient(int batch, int in, int out, int size, int kernel) {
  const int rows = size - kernel + 1;
  const Tensor X = te::placeholder({batch, in, size, size}, "float32", "X"),
               G = te::placeholder({batch, out, rows, rows}, "float32", "G");
  const te::IterVar n = te::reduce_axis(0, batch, "n"), i = te::reduce_axis(0, rows, "i"),
                    j = te::reduce_axis(0, rows, "j");
  const Tensor D = te::compute(
      {out, in, kernel, kernel},
      [&](const std::vector<Var>& at) {
        return te::sum(X(n, at[1], Expr(at[2]) + i, Expr(at[3]) + j) * G(n, at[0], i, j), {n, i, j});
      },
      "D");
  return {X, G, D};
}

// Of the first candidate: whether each task computes its part of the stage.
bool is_in_tasks(const Args& args, const std::string& name) {
  const schedule::LoopNest nest = task_of(args).candidate(0).value_or_throw().schedule.nest();
  return nest.stage(nest.find_stage(name)).attach.kind == schedule::AttachKind::kAt;
}

TEST(SketchContraction, WhatAllTasksReadIsTurnedOnce) {
  EXPECT_FALSE(is_in_tasks(weight_gradient(2, 64, 64, 11, 3), "G.global"));
  EXPECT_TRUE(is_in_tasks(matmul(64, 64, 64, true), "B.global"));
}
TEST(SketchContraction, GradientsOfWeights) { expect_right(weight_gradient(2, 5, 37, 9, 3)); }

TEST(SketchContraction, LanesLeaveAnInnermostAxisThatIsTooShort) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(turned(channels_first(5, {{"padding", "1"}})), (Names{"W", "conv.local"}));
  EXPECT_EQ(turned(channels_first(3, {{"N", "3"}, {"KH", "1"}, {"KW", "1"}})), (Names{"W", "conv.local"}));
  EXPECT_EQ(turned(few_columns()), (Names{"matmul.local"}));
  EXPECT_EQ(turned(channels_first(64, {{"padding", "1"}})), Names{}) << "long rows";
  EXPECT_EQ(turned(channels_first(224, {{"KH", "16"}, {"KW", "16"}, {"stride", "16"}})), (Names{"W", "conv.local"}))
      << "pixels that lie apart";
  EXPECT_EQ(turned(matmul(64, 3, 20)), Names{}) << "turning A takes longer than three products with it";
}
TEST(SketchContraction, ShortRowsOfImages) { expect_right(channels_first(5, {{"padding", "1"}})); }
TEST(SketchContraction, ShortRowsWithAnEpilogueAndWeightsAsTheyAre) {
  expect_right(channels_first(7, {{"padding", "1"}, {"bias", "true"}, {"activation", "relu"}, {"param", "false"}}));
}
TEST(SketchContraction, ShortRowsInBatches) { expect_right(channels_first(3, {{"N", "3"}, {"KH", "1"}, {"KW", "1"}})); }
TEST(SketchContraction, FewColumnsOfATransposedProduct) { expect_right(few_columns()); }
TEST(SketchContraction, NarrowIntegersWithoutTheInstruction) {
  expect_right(narrow(19, 53, 36, "uint8", "int8", "int32"));
}
TEST(SketchContraction, NarrowIntegers) { expect_right(narrow(19, 64, 36, "uint8", "int8", "int32")); }
TEST(SketchContraction, ResultsOfFourBitsInRowsOfOddLength) {
  Args args = narrow(19, 53, 36, "uint8", "uint8", "uint32");
  const Tensor C = args.back();
  args.back() = te::compute({19, 53}, [&](Var i, Var j) { return te::astype(C(i, j), "uint4"); }, "Q");
  expect_right(args);
}
TEST(SketchContraction, TilesOfIntegers) { expect_right_tiles(narrow(48, 96, 192, "uint8", "int8", "int32")); }
TEST(SketchContraction, TilesOfSignedIntegers) { expect_right_tiles(narrow(32, 64, 128, "int8", "int8", "int32")); }
TEST(SketchContraction, TilesOfBrainFloats) {
  expect_right_tiles(narrow(64, 80, 96, "bfloat16", "bfloat16", "float32"));
}
TEST(SketchContraction, TilesOfFewerRows) { expect_right_tiles(narrow(42, 64, 128, "uint8", "int8", "int32")); }
TEST(SketchContraction, TilesOfFewerTerms) {
  expect_right_tiles(narrow(32, 64, 200, "uint8", "int8", "int32"));
  expect_right_tiles(narrow(37, 70, 200, "int8", "int8", "int32", false));
  expect_right_tiles(narrow(42, 32, 40, "bfloat16", "bfloat16", "float32"));
}

// Bytes in windows of 3 x 3, padded, NHWC; of strides 1 and 2.
TEST(SketchContraction, TilesOfRowsOfAWindow) {
  for (const int64_t stride : {1, 2})
    for (const int64_t channels : {64, 48}) {
      const Tensor X = te::placeholder({1, 10, 14, channels}, "uint8", "X"),
                   W = te::placeholder({3, 3, channels, 32}, "int8", "W", te::Placeholder{.param = true});
      expect_right_tiles({X, W, te::ops::conv2d(X, W, {.stride = {stride}, .padding = {1}, .out_dtype = "int32"})});
    }
}
TEST(SketchContraction, BrainFloats) { expect_right(narrow(19, 128, 38, "bfloat16", "bfloat16", "float32")); }

// Columns and rows that fill no instruction have zeros behind them in copies; terms that fill none are added after it.
TEST(SketchContraction, NarrowIntegersThatLeaveEnds) {
  expect_right(narrow(7, 53, 37, "uint8", "int8", "int32", false), kFew);
  expect_right(narrow(7, 330, 37, "int8", "int8", "int32"), kFew);
}
TEST(SketchContraction, BrainFloatsThatLeaveEnds) {
  expect_right(narrow(7, 53, 37, "bfloat16", "bfloat16", "float32", false), kFew);
}
TEST(SketchContraction, TilesThatLeaveEnds) {
  expect_right_tiles(narrow(37, 70, 128, "uint8", "int8", "int32", false));
}

TEST(SketchContraction, RowsOfWeightsAreFetchedAheadWhereTheCoreDoesNot) {
  const auto fetches = [](int rows, const char* target) {
    const Tensor sums = narrow(rows, 14336, 4096, "bfloat16", "bfloat16", "float32").back();
    const auto steps = default_schedule({sums}, Target::parse(target).value_or_throw()).steps();
    return std::ranges::any_of(
        steps, [](const schedule::Step& step) { return std::holds_alternative<schedule::Prefetch>(step.kind); });
  };
  EXPECT_TRUE(fetches(1, "llvm -mcpu=sapphirerapids"));
  EXPECT_TRUE(fetches(1, "llvm -mcpu=cooperlake"));
  EXPECT_FALSE(fetches(1, "llvm -mcpu=znver5"));
  EXPECT_TRUE(fetches(2, "llvm -mcpu=znver5"));
  EXPECT_FALSE(fetches(64, "llvm -mcpu=cooperlake"));
}

}  // namespace
}  // namespace tw::autotune
