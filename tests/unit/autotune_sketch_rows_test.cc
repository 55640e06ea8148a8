// Automatic spaces of rows, reductions and pointwise stages: which rule claims what, and that random candidates compute
// right on odd shapes.
#include <gtest/gtest.h>

#include "autotune/sketch/sketch.h"
#include "tensorwright/ops/reduction.h"
#include "tensorwright/te_extern.h"
#include "tests/unit/autotune_sketch_cases.h"

namespace tw::autotune {
namespace {

using namespace testing;
using te::IterVar;
using Vars = std::vector<Var>;

void expect_right(const std::string& rule, const Args& args, int count = 60) {
  const auto claims = sketch::partition(sketch::analyse({args.back()}, Target::parse("llvm").value_or_throw()),
                                        Target::parse("llvm").value_or_throw());
  EXPECT_EQ(claims.back().rule->name, rule);
  const Sampled sampled = sample(args, count);
  EXPECT_TRUE(sampled.wrong.empty()) << sampled.wrong.size() << " are wrong, as " << sampled.wrong[0];
  EXPECT_EQ(sampled.refused, 0) << sampled.refusals[0];
}

// x, by a way that costs as much as exp: what is worth storing.
Expr expensive(const Expr& x) { return x + (te::exp(x) - te::exp(x)); }

// Like softmax, of sums that are exact in any order: over the middle axis of A[outer, n, inner], inner 1 for rows.
Args like_softmax(int outer, int n, int inner) {
  const Tensor A = te::placeholder({outer, n, inner}, "float32", "A");
  const IterVar j = te::reduce_axis(0, n, "j"), k = te::reduce_axis(0, n, "k");
  const Tensor largest = te::compute(
      {outer, inner}, [&](Var i, Var x) { return te::max(A(i, j, x), std::vector<IterVar>{j}); }, "largest");
  const Tensor E =
      te::compute({outer, n, inner}, [&](Var i, Var p, Var x) { return expensive(A(i, p, x) - largest(i, x)); }, "E");
  const Tensor total = te::compute({outer, inner}, [&](Var i, Var x) { return te::sum(E(i, k, x), {k}); }, "total");
  const Tensor B = te::compute({outer, n, inner}, [&](Var i, Var p, Var x) { return E(i, p, x) * total(i, x); }, "B");
  return {A, B};
}

// The first of the columns of such a softmax: what is stored has longer rows than the output.
Args first_columns(int rows, int n, int columns) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  const IterVar k = te::reduce_axis(0, n, "k");
  const Tensor E = te::compute({rows, n}, [&](Var i, Var p) { return expensive(A(i, p)); }, "E");
  const Tensor total = te::compute({rows}, [&](Var i) { return te::sum(E(i, k), {k}); }, "total");
  const Tensor B = te::compute({rows, columns}, [&](Var i, Var p) { return E(i, p) * total(i); }, "B");
  return {A, B};
}

// Like layer normalisation.
Args like_layernorm(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A"), scale = te::placeholder({n}, "float32", "scale");
  const IterVar j = te::reduce_axis(0, n, "j"), k = te::reduce_axis(0, n, "k");
  const Tensor total = te::compute({rows}, [&](Var i) { return te::sum(A(i, j), {j}); }, "total");
  const Tensor mean = te::compute({rows}, [&](Var i) { return total(i) * te::constant(2, "float32"); }, "mean");
  const Tensor d = te::compute({rows, n}, [&](Var i, Var x) { return A(i, x) - mean(i); }, "d");
  const Tensor squares = te::compute({rows}, [&](Var i) { return te::sum(d(i, k) * d(i, k), {k}); }, "squares");
  const Tensor B = te::compute({rows, n}, [&](Var i, Var x) { return d(i, x) * scale(x) + squares(i); }, "B");
  return {A, scale, B};
}

Args row_sums(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  const IterVar k = te::reduce_axis(0, n, "k");
  return {A, te::compute({rows}, [&](Var i) { return te::sum(A(i, k), {k}); }, "B")};
}

Args column_sums(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  const IterVar k = te::reduce_axis(0, rows, "k");
  return {A, te::compute({n}, [&](Var j) { return te::sum(A(k, j), {k}); }, "B")};
}

Args sum_of_all(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  const IterVar i = te::reduce_axis(0, rows, "i"), k = te::reduce_axis(0, n, "k");
  return {A, te::compute({}, [&](const Vars&) { return te::sum(A(i, k), {i, k}); }, "B")};
}

// One row times a matrix that is stored by columns; the row is computed, from a sum of itself too.
Args computed_row_times_matrix(int columns, int n, bool bias) {
  const Tensor X = te::placeholder({1, n}, "float32", "X"), W = te::placeholder({columns, n}, "float32", "W"),
               b = te::placeholder({columns}, "float32", "b");
  const IterVar j = te::reduce_axis(0, n, "j"), k = te::reduce_axis(0, n, "k");
  const Tensor total = te::compute({1}, [&](Var i) { return te::sum(X(i, j), {j}); }, "total");
  const Tensor H = te::compute({1, n}, [&](Var i, Var p) { return expensive(X(i, p)) + total(i); }, "H");
  const Tensor O = te::compute({1, columns}, [&](Var i, Var p) { return te::sum(H(i, k) * W(p, k), {k}); }, "O");
  if (!bias) return {X, W, O};
  return {X, W, b, te::compute({1, columns}, [&](Var i, Var p) { return O(i, p) + b(p); }, "D")};
}

// Sums of rows to each of which the same is added, for all of them or for all of a batch.
Args rows_with_mask(int batch, int rows, int n, bool of_batch) {
  const Tensor A = te::placeholder({batch, rows, n}, "float32", "A"), M = te::placeholder({batch, n}, "float32", "M");
  const IterVar k = te::reduce_axis(0, n, "k");
  const Tensor mask =
      te::compute({batch, n}, [&](Var b, Var p) { return expensive(of_batch ? M(b, p) : M(Expr(0), p)); }, "mask");
  const auto f = [&](Var b, Var i) { return te::sum(A(b, i, k) + mask(b, k), {k}); };
  return {A, M, te::compute({batch, rows}, f, "B")};
}

// 3x3 over NHWC data with a border of zeros, one filter a channel.
Args depthwise(int size, int channels, bool bias) {
  const Tensor X = te::placeholder({1, size, size, channels}, "float32", "X"),
               W = te::placeholder({3, 3, channels}, "float32", "W"), b = te::placeholder({channels}, "float32", "b");
  const Tensor P = te::compute(
      {1, size + 2, size + 2, channels},
      [&](const Vars& at) {
        const Expr y = Expr(at[1]) - Expr(1), x = Expr(at[2]) - Expr(1);
        return te::if_then_else(te::all({y >= Expr(0), y < Expr(size), x >= Expr(0), x < Expr(size)}),
                                X(Expr(at[0]), y, x, Expr(at[3])), zero());
      },
      "P");
  const IterVar ky = te::reduce_axis(0, 3, "ky"), kx = te::reduce_axis(0, 3, "kx");
  const Tensor C = te::compute(
      {1, size, size, channels},
      [&](const Vars& at) {
        return te::sum(P(Expr(at[0]), Expr(at[1]) + Expr(ky), Expr(at[2]) + Expr(kx), Expr(at[3])) * W(ky, kx, at[3]),
                       {ky, kx});
      },
      "C");
  if (!bias) return {X, W, C};
  return {X, W, b,
          te::compute(
              {1, size, size, channels},
              [&](const Vars& at) { return te::max(C({at[0], at[1], at[2], at[3]}) + b(at[3]), zero()); }, "D")};
}

// Windows that lie `stride` elements from each other along rows that are stored as rows.
Args windows(int size, int window, int stride) {
  const Tensor X = te::placeholder({3, size, size}, "float32", "X"),
               W = te::placeholder({3, window, window}, "float32", "W");
  const IterVar ky = te::reduce_axis(0, window, "ky"), kx = te::reduce_axis(0, window, "kx");
  const int out = (size - window) / stride + 1;
  return {X, W,
          te::compute(
              {3, out, out},
              [&](const Vars& at) {
                const Expr y = Expr(at[1]) * Expr(stride) + Expr(ky), x = Expr(at[2]) * Expr(stride) + Expr(kx);
                return te::sum(X(Expr(at[0]), y, x) * W(Expr(at[0]), ky, kx), {ky, kx});
              },
              "C")};
}

Args transpose(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  return {A, te::compute({n, rows}, [&](Var i, Var j) { return A(j, i); }, "B")};
}

Args doubled(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "float32", "A");
  return {A, te::compute({rows, n}, [&](Var i, Var j) { return A(i, j) + A(i, j); }, "B")};
}

TEST(SketchRows, LikeSoftmax) { expect_right("rows", like_softmax(13, 37, 1)); }
TEST(SketchRows, LikeSoftmaxOverChannels) { expect_right("rows", like_softmax(2, 7, 37)); }
TEST(SketchRows, LikeSoftmaxOverFewChannelsOfMany) { expect_right("rows", like_softmax(2, 3, 1100), 20); }
TEST(SketchRows, OneBatchOfRowsHasTheRowsForAnAxis) {
  const Tensor A = te::placeholder({1, 13, 37}, "float32", "A");
  const IterVar k = te::reduce_axis(0, 37, "k");
  const Tensor E = te::compute({1, 13, 37}, [&](Var b, Var i, Var j) { return expensive(A(b, i, j)); }, "E");
  const Tensor total = te::compute({1, 13}, [&](Var b, Var i) { return te::sum(E(b, i, k), {k}); }, "total");
  const Args args = {A, te::compute({1, 13, 37}, [&](Var b, Var i, Var j) { return E(b, i, j) - total(b, i); }, "B")};
  const std::string space = to_string(task_of(args).space());
  EXPECT_NE(space.find("B.rows"), std::string::npos) << space;
  expect_right("rows", args);
}

TEST(SketchRows, LikeLayerNormalisation) { expect_right("rows", like_layernorm(11, 70)); }
TEST(SketchRows, StagesOfTwoLengths) { expect_right("rows", first_columns(13, 70, 37)); }
TEST(SketchRows, SumsOfLongAndShortRows) {
  expect_right("rows", row_sums(9, 133));
  expect_right("rows", row_sums(50, 5));
}
// Like group normalisation with channels side by side.
Args like_group_norm(int groups, int channels) {
  const Tensor A = te::placeholder({2, 9, 8, groups * channels}, "float32", "A");
  const auto summed = [&](const char* name, const std::function<Expr(const Expr&, const std::vector<Expr>&)>& f) {
    const IterVar y = te::reduce_axis(0, 9, "y"), x = te::reduce_axis(0, 8, "x"), c = te::reduce_axis(0, channels, "c");
    return te::compute(
        {2, groups},
        [&](Var n, Var g) { return te::sum(f(A(n, y, x, Expr(g) * Expr(channels) + c), {n, g}), {y, x, c}); }, name);
  };
  const Tensor total = summed("total", [](const Expr& a, const std::vector<Expr>&) { return a; });
  const Expr least = te::constant(-2, "float32"), most = te::constant(2, "float32");  // sums of squares stay exact
  const Tensor mean =
      te::compute({2, groups}, [&](Var n, Var g) { return te::min(te::max(total(n, g), least), most); }, "mean");
  const Tensor squares =
      summed("squares", [&](const Expr& a, const std::vector<Expr>& at) { return (a - mean(at)) * (a - mean(at)); });
  const Tensor B = te::compute(
      A.shape(),
      [&](Var n, Var y, Var x, Var c) {
        const Expr g = ir::floordiv(Expr(c), Expr(channels));
        return (A(n, y, x, c) - mean(n, g)) * squares(n, g);
      },
      "B");
  return {A, B};
}

TEST(SketchRows, ShortRunsAreReadAsTheyLie) {
  const auto claimed = [](const Args& args) {
    const auto claims = sketch::partition(sketch::analyse({args.back()}, Target::host()), Target::host());
    return std::ranges::count_if(claims,
                                 [](const sketch::Claim& c) { return c.rule->name == std::string("short_runs"); });
  };
  for (const Args& args : {like_group_norm(5, 10), like_group_norm(4, 37)}) {
    EXPECT_EQ(claimed(args), 2) << "the total and the squares";
    expect_right("pointwise", args);
  }
  EXPECT_EQ(claimed(like_group_norm(5, 2)), 0) << "vectors of several runs";
  EXPECT_EQ(claimed(like_group_norm(5, 100)), 0) << "lines of one run";
}

TEST(SketchRows, FewRowsAreSharedOutWithin) {
  expect_right("whole", sum_of_all(131, 77));
  expect_right("whole", row_sums(3, 133));
}
// The place of the largest of what costs: a comparison and a choice would compute it each.
TEST(SketchRows, TermsOfTuplesAreStored) {
  const Tensor A = te::placeholder({9, 70}, "float32", "A");
  const Tensor E = te::compute({9, 70}, [&](Var i, Var p) { return expensive(A(i, p)); }, "E");
  const Args args = {A, te::ops::argmax(E, {})};
  expect_right("rows", args, 20);
  const Task task = task_of(args);
  for (uint64_t index = 0; index < task.space().size(); ++index)
    for (const schedule::Step& step : task.steps(index).value_or_throw())
      EXPECT_FALSE(std::holds_alternative<schedule::ComputeInline>(step.kind)) << task.space().describe(index);
}
// Inside of the rows it would be computed for each of them.
TEST(SketchRows, WhatRowsShareIsComputedBefore) {
  const auto groups = [](const Args& args) {
    const sketch::Graph graph = sketch::analyse({args.back()}, Target::parse("llvm").value_or_throw());
    std::vector<std::string> names;
    for (const sketch::Claim& claim : sketch::partition(graph, Target::parse("llvm").value_or_throw())) {
      names.emplace_back();
      for (int member : claim.group.members) names.back() += graph.at(member).name + " ";
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(groups(computed_row_times_matrix(37, 133, false)), (Names{"total ", "H ", "O "}));
  EXPECT_EQ(groups(computed_row_times_matrix(37, 133, true)), (Names{"total ", "H ", "O D "}));
  EXPECT_EQ(groups(rows_with_mask(3, 7, 70, true)), (Names{"mask ", "B "}));
  for (bool yes : {false, true}) {
    expect_right("rows", computed_row_times_matrix(37, 133, yes), 20);
    expect_right("rows", rows_with_mask(3, 7, 70, yes), 20);
  }
}
// One row times a matrix of bytes that is packed, stored by its columns: as a contraction, four terms at a time.
TEST(SketchRows, RowTimesPackedBytes) {
  for (const bool epilogue : {false, true}) {
    const Tensor X = te::placeholder({1, 136}, "int8", "X"),
                 W = te::placeholder({80, 136}, "int8", "W", te::Placeholder{.param = true});
    const IterVar k = te::reduce_axis(0, 136, "k");
    const auto f = [&](Var i, Var j) {
      return te::sum(te::astype(X(i, k), "int32") * te::astype(W(j, k), "int32"), {k});
    };
    Args args = {X, W, te::compute({1, 80}, f, "C")};
    const Tensor C = args.back();
    if (epilogue) args.back() = te::compute({1, 80}, [&](Var i, Var j) { return C(i, j) + C(i, j); }, "D");
    expect_right("rows", args, 20);
    const auto steps = Task(args, Target::parse("llvm -mcpu=znver4").value_or_throw()).steps(0).value_or_throw();
    EXPECT_TRUE(std::ranges::any_of(
        steps, [](const schedule::Step& step) { return std::holds_alternative<schedule::Tensorize>(step.kind); }));
  }
}
// Each row's elements are sums: only rows stand side by side, however long they are.
TEST(SketchRows, RowsOfSums) {
  const Tensor Q = te::placeholder({8, 36}, "float32", "Q"), K = te::placeholder({70, 8, 36}, "float32", "K");
  const IterVar k = te::reduce_axis(0, 36, "k"), j = te::reduce_axis(0, 70, "j");
  const Tensor S = te::compute({8, 70}, [&](Var h, Var t) { return te::sum(Q(h, k) * K(t, h, k), {k}); }, "S");
  const Tensor total = te::compute({8}, [&](Var h) { return te::sum(S(h, j), {j}); }, "total");
  const Args args = {Q, K, te::compute({8, 70}, [&](Var h, Var t) { return S(h, t) * total(h); }, "B")};
  expect_right("rows", args, 20);
  const Task task = task_of(args);
  for (uint64_t index = 0; index < task.space().size(); ++index)
    for (const schedule::Step& step : task.steps(index).value_or_throw()) {
      const auto* unroll = std::get_if<schedule::Unroll>(&step.kind);
      EXPECT_FALSE(unroll && unroll->axis == "t") << task.space().describe(index);
    }
}
TEST(SketchReduction, SumsOfColumns) { expect_right("reduction", column_sums(131, 37), 100); }
TEST(SketchReduction, VectorTimesMatrix) { expect_right("reduction", matmul(1, 133, 150), 100); }
TEST(SketchReduction, DepthwiseConvolution) {
  expect_right("reduction", depthwise(7, 21, false));
  expect_right("reduction", depthwise(9, 35, true));
}
// Lanes are windows as long as few elements lie between these, and terms where a window is long.
TEST(SketchReduction, WindowsThatSlideByMoreThanOneElement) {
  for (int stride : {1, 2, 3, 4}) expect_right("reduction", windows(37, 3, stride));
  expect_right("reduction", windows(37, 7, 2));
  expect_right("rows", windows(37, 4, 5));
  expect_right("rows", windows(37, 9, 2));
}
// The Kronecker product of [rows, 12] and [7, columns].
Args kronecker(int64_t rows, int64_t columns) {
  const te::Tensor A = te::placeholder({rows, 12}, "float32", "A"), B = te::placeholder({7, columns}, "float32", "B");
  return {A, B,
          te::compute(
              {rows * 7, 12 * columns},
              [&](te::Var i, te::Var j) {
                return A(ir::floordiv(i, 7), ir::floordiv(j, columns)) *
                       B(ir::floormod(i, 7), ir::floormod(j, columns));
              },
              "K")};
}

TEST(SketchPointwise, VectorsBeginWhereDigitsDo) {
  for (const int64_t columns : {17, 5, 8, 150}) expect_right("pointwise", kronecker(6, columns), 20);
  const auto parts = [](int64_t columns) {
    const Target target = Target::parse("llvm -mcpu=x86-64-v3").value_or_throw();
    std::vector<int64_t> factors;
    for (const schedule::Step& step : Task(kronecker(6, columns), target).steps(0).value_or_throw())
      if (const auto* split = std::get_if<schedule::Split>(&step.kind)) factors.push_back(split->factor->value);
    return factors;
  };
  EXPECT_EQ(parts(17), (std::vector<int64_t>{17}));
  EXPECT_EQ(parts(5), (std::vector<int64_t>{40})) << "five vectors";
  EXPECT_EQ(parts(8), (std::vector<int64_t>{32})) << "any vector is of one digit";
  EXPECT_EQ(parts(150), (std::vector<int64_t>{150, 32}));
}

TEST(SketchPointwise, OneLongRowAndCrossedAxes) {
  expect_right("pointwise", doubled(13, 37), 20);
  expect_right("pointwise", transpose(33, 21), 20);
}

// Rows of 4 KiB in the result, in what it reads, and in both.
TEST(SketchPointwise, RowsThatMeetInOneSetAreTurnedInBlocks) {
  expect_right("pointwise", transpose(1024, 70), 12);
  expect_right("pointwise", transpose(67, 1024), 12);
  expect_right("pointwise", transpose(1024, 1024), 4);
  const Tensor A = te::placeholder({2, 4096, 130}, "int8", "A"), B = te::placeholder({2, 130, 4096}, "int8", "B");
  const auto f = [&](Var b, Var i, Var j) { return te::max(A(b, j, i), B(b, i, j)) + ir::cast(ir::Type::i(8), i); };
  const Args bytes = {A, B, te::compute({2, 130, 4096}, f, "C")};
  expect_right("pointwise", bytes, 6);
  const auto knobs = [](const Args& args) { return Task(args, Target::host()).space().knobs().size(); };
  EXPECT_EQ(knobs(transpose(1024, 70)), knobs(transpose(1000, 70)) + 1);
  EXPECT_EQ(knobs(bytes), 3U) << "rows, lanes, block";
  EXPECT_EQ(knobs(transpose(1024, 20)), knobs(transpose(1000, 20))) << "too few rows for a block";
}

// A[j // 3, i] runs across the result, and its digits are whole vectors.
TEST(SketchPointwise, DigitsAcrossRows) {
  const Tensor A = te::placeholder({8, 64}, "float32", "A");
  const auto f = [&](Var i, Var j) { return A(ir::floordiv(Expr(j), 3), i); };
  expect_right("pointwise", {A, te::compute({64, 23}, f, "B")}, 20);
}

// The width of the vectors of the first candidate, and how many loops it unrolls.
std::pair<int64_t, int> lanes_and_copies(const Args& args) {
  const Target target = Target::parse("llvm -mcpu=x86-64-v3").value_or_throw();
  std::pair<int64_t, int> found;
  for (const schedule::Step& step : Task(args, target).steps(0).value_or_throw()) {
    if (const auto* split = std::get_if<schedule::Split>(&step.kind))
      if (!split->nparts) found.first = split->factor->value;
    found.second += std::holds_alternative<schedule::Unroll>(step.kind);
  }
  return found;
}

// B[y, x, c] of A[y, x.., c..], for channels that are fewer than lanes.
Args pixels(int channels, const char* dtype, const std::function<Expr(const Tensor&, Var, Var, Var)>& body) {
  const Tensor A = te::placeholder({6, 41, channels}, dtype, "A");
  return {A, te::compute({5, 40, channels}, [&](Var y, Var x, Var c) { return body(A, y, x, c); }, "B")};
}

TEST(SketchPointwise, LanesRunBesideShortAxes) {
  using std::pair;
  const auto along = [](const Tensor& A, Var y, Var x, Var c) { return A(y, x, c) + A(Expr(y) + 1, Expr(x) + 1, c); };
  const auto within = [](const Tensor& A, Var y, Var x, Var c) { return A(y, x, c) * A(y, x, 0); };
  const auto swapped = [](const Tensor& A, Var y, Var x, Var c) {
    return te::select(ir::eq(c, 0), A(y, x, 1), A(y, x, 0) * A(y, x, 1));
  };
  const auto apart = [](const Tensor& A, Var y, Var x, Var c) { return A(y, ir::floordiv(Expr(x), 2) * 2, c); };
  for (const char* dtype : {"float32", "uint8"})
    for (const int channels : {1, 2, 3, 4, 5, 7}) {
      expect_right("pointwise", pixels(channels, dtype, along), 12);
      expect_right("pointwise", pixels(channels, dtype, within), 12);
      if (channels > 1) expect_right("pointwise", pixels(channels, dtype, swapped), 12);
      expect_right("pointwise", pixels(channels, dtype, apart), 12);
    }
  EXPECT_EQ(lanes_and_copies(pixels(3, "float32", along)), pair(int64_t{8}, 0)) << "fused";
  EXPECT_EQ(lanes_and_copies(pixels(3, "float32", within)), pair(int64_t{8}, 1)) << "unrolled";
  EXPECT_EQ(lanes_and_copies(pixels(2, "float32", swapped)), pair(int64_t{8}, 1));
  EXPECT_EQ(lanes_and_copies(pixels(7, "float32", along)), pair(int64_t{8}, 0));
}

// Planes that become one, of which each second or third element is another's.
TEST(SketchPointwise, DigitsOfPlanesAreUnrolled) {
  for (const int digit : {2, 3, 4}) {
    const Tensor A = te::placeholder({digit, 10, 48}, "float32", "A");
    const auto f = [&](Var y, Var x) { return A(ir::floormod(Expr(x), digit), y, ir::floordiv(Expr(x), digit)); };
    const Args args = {A, te::compute({10, 48 * digit}, f, "B")};
    expect_right("pointwise", args, 12);
    EXPECT_EQ(lanes_and_copies(args), std::pair(int64_t{8}, 1)) << digit;
  }
}

// Colour matrices, whose lanes are pixels; with an epilogue, and of bytes.
TEST(SketchPixels, AllChannelsOfVectorsOfPixels) {
  for (const int channels : {2, 3, 4}) {
    const Tensor A = te::placeholder({5, 67, 3}, "uint8", "A"), M = te::placeholder({channels, 3}, "int16", "M");
    const te::IterVar k = te::reduce_axis(0, 3, "k");
    const auto wide = [](const Expr& e) { return ir::cast(ir::Type::i(32), e); };
    const auto sum = [&](Var y, Var x, Var c) { return te::sum(wide(A(y, x, k)) * wide(M(c, k)), {k}); };
    const Tensor C = te::compute({5, 67, channels}, sum, "C");
    const auto f = [&](Var y, Var x, Var c) {
      return ir::cast(ir::Type::u(8), te::min(ir::floordiv(C(y, x, c), 256), 255));
    };
    expect_right("pixels", {A, M, C}, 12);
    expect_right("pixels", {A, M, te::compute({5, 67, channels}, f, "D")}, 12);
    expect_right("pixels", matmul(300, channels, 3), 12);
  }
}

Args running_sums_of(const Tensor& A, int rows, int n, const Args& before) {
  const Tensor state = te::placeholder({n, rows}, "int32", "state");
  const Tensor first = te::compute({1, rows}, [&](Var t, Var i) { return A(i, t); }, "first");
  const Tensor next = te::compute({n, rows}, [&](Var t, Var i) { return state(Expr(t) - 1, i) + A(i, t); }, "next");
  const Tensor S = te::scan({first}, {next}, {state}, "S")[0];
  Args args = before;
  args.push_back(te::compute({rows, n}, [&](Var i, Var t) { return S(t, i); }, "B"));
  return args;
}

Args running_sums(int rows, int n) {
  const Tensor A = te::placeholder({rows, n}, "int32", "A");
  return running_sums_of(A, rows, n, {A});
}

// Of the second of a scan's states, which is shorter than the first.
Args running_sums_of_states(int rows, int n) {
  const Tensor A = te::placeholder({rows, n + 1}, "int32", "A");
  std::vector<Tensor> states, first, next;
  for (const int width : {n + 1, n}) {
    const std::string name = std::to_string(width);
    states.push_back(te::placeholder({rows, width}, "int32", "state" + name));
    const Tensor state = states.back();
    first.push_back(te::compute({1, width}, [&](Var t, Var j) { return A(t, j); }, "first" + name));
    next.push_back(
        te::compute({rows, width}, [&](Var t, Var j) { return state(Expr(t) - 1, j) + A(t, j); }, "next" + name));
  }
  const std::vector<Tensor> both = te::scan(first, next, states, "both");
  return running_sums_of(both[1], rows, n, {A, both[0]});
}

// H[t] = H[t-1] + sum over k of H[t-1, .., 0] * X[t, .., k] * W[k, .], in few steps of long sums.
Args recurrent(int times, int rows, int units, int terms) {
  const Tensor H = te::placeholder({times, rows, units}, "float32", "H"),
               W = te::placeholder({terms, units}, "float32", "W"),
               X = te::placeholder({times, rows, terms}, "float32", "X");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  const Tensor first = te::compute({1, rows, units}, [&](Var, Var, Var) { return zero(); }, "first");
  const Tensor sum = te::compute(
      {times, rows, units},
      [&](Var t, Var i, Var j) {
        return te::sum(H(Expr(t) - 1, Expr(i), Expr(0)) * X(Expr(t), Expr(i), Expr(k)) * W(Expr(k), Expr(j)), {k});
      },
      "sum");
  const Tensor next = te::compute(
      {times, rows, units}, [&](Var t, Var i, Var j) { return H(Expr(t) - 1, Expr(i), Expr(j)) + sum(t, i, j); },
      "next");
  return {X, W, te::scan({first}, {next}, {H}, "S")[0]};
}

// Time is the first axis of what a scan computes: no rfactor makes one before it.
TEST(SketchScans, TermsOfABodyAreNotSharedOut) {
  for (const Args& args : {recurrent(3, 1, 1, 100), recurrent(4, 2, 16, 5000), recurrent(20, 1, 17, 300)}) {
    const Sampled sampled = sample(args, 8);
    EXPECT_TRUE(sampled.wrong.empty() && sampled.refused == 0) << sampled.right;
  }
}

// Gates of a cell, whose states are an operand: each of them, rows or lanes.
Args gates(int rows, int units, bool lanes) {
  const int times = 4, gates = 3;
  const Tensor H = te::placeholder({times, rows, units}, "float32", "H"),
               W = te::placeholder({gates, units, units}, "float32", "W");
  const te::IterVar k = te::reduce_axis(0, units, "k");
  const Tensor first =
      te::compute({1, rows, units}, [&](Var, Var i, Var j) { return ir::cast(ir::Type::f(32), i + j); }, "first");
  const auto product = [&](Expr t, Expr q, Expr i, Expr j) {
    return te::sum(H(t - 1, i, Expr(k)) * W(q, j, Expr(k)), {k});
  };
  const Tensor sum =
      lanes ? te::compute(
                  {times, gates, units, rows}, [&](Var t, Var q, Var j, Var i) { return product(t, q, i, j); }, "sum")
            : te::compute(
                  {times, rows, gates, units}, [&](Var t, Var i, Var q, Var j) { return product(t, q, i, j); }, "sum");
  const Tensor next = te::compute(
      {times, rows, units},
      [&](Var t, Var i, Var j) {
        const auto at = [&](int q) { return lanes ? sum(t, q, j, i) : sum(t, i, q, j); };
        return te::max(at(0), at(1)) - at(2);
      },
      "next");
  return {W, te::scan({first}, {next}, {H}, "S")[0]};
}

// What depends on a state is computed in its time: nothing copies the state for it.
TEST(SketchScans, ProductsReadTheStateWhereItLies) {
  for (const Args& args :
       {gates(8, 17, false), gates(1, 16, false), gates(33, 5, false), gates(8, 17, true), gates(32, 9, true)}) {
    const Sampled sampled = sample(args, 8);
    EXPECT_TRUE(sampled.wrong.empty() && sampled.refused == 0) << sampled.right;
  }
}

TEST(SketchRunning, SumsOfRows) {
  expect_right("running", running_sums(13, 37), 20);
  expect_right("running", running_sums(4, 16), 20);
}
TEST(SketchRunning, SumsOfAScanOfTwoShapes) { expect_right("running", running_sums_of_states(8, 24), 20); }

// Found by the fuzzer: a division by the extents of a tile that nobody computes.
TEST(SketchEmpty, ProductsOfNothing) {
  for (const Args& args : {matmul(5, 5, 0), matmul(0, 20, 3), matmul(7, 0, 3), batch_matmul(0, 10, 20, 7)}) {
    const Sampled sampled = sample(args, 5);
    EXPECT_TRUE(sampled.wrong.empty() && sampled.refused == 0) << sampled.right;
  }
}

// Found by the fuzzer: weights were packed ahead that an extern stage reads as they are declared.
TEST(SketchExtern, WeightsThatAnExternReadsStayAsTheyAre) {
  Args args = matmul(21, 83, 19, false, true);
  const Tensor B = args[1];
  const auto body = [](const std::vector<te::Buffer>& in, const std::vector<te::Buffer>& out) {
    const Var i("i"), j("j");
    return ir::loop(i, 19, ir::loop(j, 83, ir::store(out[0], {i, j}, ir::load(in[0], {i, j}))));
  };
  args.push_back(te::external({{B.dtype(), B.shape()}}, {B}, body, "T")[0]);
  const Task task = task_of(args);
  for (uint64_t index = 0; index < task.space().size(); index += 1 + task.space().size() / 50)
    EXPECT_TRUE(task.candidate(index).ok()) << task.space().describe(index);
}

}  // namespace
}  // namespace tw::autotune
