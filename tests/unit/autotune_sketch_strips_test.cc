// Automatic spaces of windows of pointwise stages: what is stored and what is inlined, and that random candidates
// compute right on odd shapes.
#include <gtest/gtest.h>

#include "autotune/sketch/sketch.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/device.h"

namespace tw::autotune {
namespace {

using namespace testing;

// "strips: gray Ix S" for each group.
std::vector<std::string> claims(const Args& args, const Target& target = Target::parse("llvm").value_or_throw()) {
  std::vector<std::string> texts;
  const sketch::Graph graph = sketch::analyse({args.back()}, target);
  for (const sketch::Claim& claim : sketch::partition(graph, target)) {
    std::string& text = texts.emplace_back(claim.rule->name) += ":";
    for (int member : claim.group.members) text += " " + graph.at(member).name;
  }
  return texts;
}

using Groups = std::vector<std::string>;

void expect_right(const Args& args, int count = 12) {
  const Sampled sampled = sample(args, count);
  EXPECT_TRUE(sampled.wrong.empty()) << sampled.wrong.size() << " are wrong, as " << sampled.wrong[0];
  EXPECT_EQ(sampled.refused, 0) << sampled.refusals[0];
}

Tensor input(int height, int width, const char* dtype = "float32") {
  return te::placeholder({height, width}, dtype, "A");
}

// Each element the sum of a window of `of`, [height, width] of them.
Tensor window(const Tensor& of, int height, int width, const std::string& name, int rows, int columns) {
  const int h = static_cast<int>(*ir::as_int(of.shape()[0])) - rows + 1;
  EXPECT_LE(height, h);
  return te::compute(
      {height, width},
      [&](Var y, Var x) {
        Expr sum = of(y, x);
        for (int i = 0; i < rows; ++i)
          for (int j = i == 0 ? 1 : 0; j < columns; ++j) sum = sum + of(Expr(y) + Expr(i), Expr(x) + Expr(j));
        return sum;
      },
      name);
}

Args blurs(int height, int width, int taps, const char* dtype = "float32") {
  const Tensor A = input(height + taps - 1, width + taps - 1, dtype);
  const Tensor B = window(A, height + taps - 1, width, "B", 1, taps);
  return {A, window(B, height, width, "C", taps, 1)};
}

TEST(SketchStrips, WindowsOfWindows) {
  EXPECT_EQ(claims(blurs(37, 133, 7)), (Groups{"strips: B C"}));
  for (int taps : {3, 7}) expect_right(blurs(37, 133, taps));
  expect_right(blurs(70, 65, 5, "int16"));
  expect_right(blurs(1, 40, 5));
  expect_right(blurs(9, 1600, 7));
}

// Products of derivatives cost one operation where they are read: only the derivatives are stored.
TEST(SketchStrips, WhatIsCheapIsInlined) {
  const Tensor A = input(41, 137);
  const Tensor D = window(A, 39, 135, "D", 3, 3), E = window(A, 39, 135, "E", 2, 3);
  const auto product = [](const Tensor& a, const Tensor& b, const char* name) {
    return te::compute({39, 135}, [&](Var y, Var x) { return a(y, x) * b(y, x); }, name);
  };
  const Tensor DD = window(product(D, D, "dd"), 37, 133, "DD", 3, 3),
               EE = window(product(E, E, "ee"), 37, 133, "EE", 3, 3),
               DE = window(product(D, E, "de"), 37, 133, "DE", 3, 3);
  const Args args = {
      A, te::compute({37, 133}, [&](Var y, Var x) { return DD(y, x) * EE(y, x) - DE(y, x) * DE(y, x); }, "O")};
  EXPECT_EQ(claims(args), (Groups{"strips: D E O"}));
  expect_right(args);
}

TEST(SketchStrips, FewOperationsAreRepeated) {
  const Tensor A = input(37, 137);
  const Tensor B = te::compute({37, 137}, [&](Var y, Var x) { return A(y, x) + A(y, x); }, "B");
  EXPECT_EQ(claims({A, window(B, 37, 135, "C", 1, 3)}), (Groups{"pointwise: C"}));
}

// The rows of `shared` are the same for all channels, which then lie inside of the loop over rows.
TEST(SketchStrips, ChannelsShareRows) {
  const Tensor A = te::placeholder({3, 41, 137}, "float32", "A");
  const Tensor G =
      te::compute({41, 137}, [&](Var y, Var x) { return A(0, y, x) * A(1, y, x) + A(2, y, x) * A(2, y, x); }, "G");
  const Tensor B = window(G, 37, 133, "B", 5, 5);
  const Args args = {A, te::compute(
                            {3, 37, 133},
                            [&](Var c, Var y, Var x) {
                              return B(y, x) * A(c, Expr(y) + Expr(2), Expr(x) + Expr(2)) -
                                     G(Expr(y) + Expr(2), Expr(x) + Expr(2));
                            },
                            "O")};
  EXPECT_EQ(claims(args), (Groups{"strips: G B O"}));
  expect_right(args);
}

TEST(SketchStrips, BatchesGoAroundRows) {
  const Tensor A = te::placeholder({2, 41, 70}, "float32", "A");
  const auto blur = [](const Tensor& of, int height, int width, const std::string& name) {
    return te::compute(
        {2, height, width},
        [&](Var n, Var y, Var x) {
          Expr sum = of(n, y, x);
          for (int i = 1; i < 9; ++i) sum = sum + of(n, Expr(y) + Expr(i / 3), Expr(x) + Expr(i % 3));
          return sum;
        },
        name);
  };
  const Args args = {A, blur(blur(A, 39, 68, "B"), 37, 66, "C")};
  EXPECT_EQ(claims(args), (Groups{"strips: B C"}));
  expect_right(args);
}

// Every second row and column.
TEST(SketchStrips, WindowsThatSlideByTwo) {
  const Tensor A = input(75, 150);
  const Tensor B = window(A, 71, 146, "B", 5, 5);
  const Args args = {A, te::compute(
                            {33, 70},
                            [&](Var y, Var x) {
                              Expr sum = B(Expr(y) * Expr(2), Expr(x) * Expr(2));
                              for (int i = 1; i < 9; ++i)
                                sum = sum + B(Expr(y) * Expr(2) + Expr(i / 3), Expr(x) * Expr(2) + Expr(i % 3));
                              return sum;
                            },
                            "C")};
  expect_right(args);
}

// Sums along one axis, then along the other; what stands between them is inlined.
TEST(SketchStrips, SumsOfWindows) {
  const Tensor A = input(41, 139), K = te::placeholder({7}, "float32", "K");
  const te::IterVar p = te::reduce_axis(0, 7, "p"), q = te::reduce_axis(0, 5, "q");
  const Tensor B =
      te::compute({41, 133}, [&](Var y, Var x) { return te::sum(A(y, Expr(x) + Expr(p)) * K(p), {p}); }, "B");
  const Tensor C = te::compute({41, 133}, [&](Var y, Var x) { return B(y, x) + B(y, x); }, "C");
  const Tensor D = te::compute({37, 133}, [&](Var y, Var x) { return te::max(C(Expr(y) + Expr(q), x), {q}); }, "D");
  EXPECT_EQ(claims({A, K, D}), (Groups{"strips: B D"}));
  expect_right({A, K, D});
  const Args last = {A, K, te::compute({37, 133}, [&](Var y, Var x) { return D(y, x) + A(y, x); }, "O")};
  EXPECT_EQ(claims(last), (Groups{"strips: B D O"}));
  expect_right(last);
}

// Of windows along two axes tiles read less.
TEST(SketchStrips, SumsOfSquareWindowsAreTiles) {
  const Tensor A = input(41, 139);
  const te::IterVar p = te::reduce_axis(0, 3, "p"), q = te::reduce_axis(0, 3, "q");
  const auto sum = [&](const Tensor& of, int height, int width, const char* name) {
    return te::compute(
        {height, width}, [&](Var y, Var x) { return te::sum(of(Expr(y) + Expr(p), Expr(x) + Expr(q)), {p, q}); }, name);
  };
  EXPECT_EQ(claims({A, sum(sum(A, 39, 137, "B"), 37, 135, "C")}).back().substr(0, 6), "reduct");
}

// A row that is read wherever a clamp says is no next row of a window.
TEST(SketchStrips, ClampedRowsAreNoStrips) {
  const Tensor A = input(37, 137);
  const Tensor B = window(A, 33, 133, "B", 5, 5);
  const Args args = {A, te::compute(
                            {33, 133},
                            [&](Var y, Var x) {
                              return B(te::max(Expr(y) - Expr(1), Expr(0)), x) + B(y, x) +
                                     B(te::min(Expr(y) + Expr(1), Expr(32)), x);
                            },
                            "C")};
  EXPECT_TRUE(std::ranges::none_of(claims(args), [](const std::string& c) { return c.starts_with("strips"); }));
  expect_right(args);
}

// One behind the other: the rows that are read do not move with those that are written.
TEST(SketchStrips, ConcatenatedRowsAreNoStrips) {
  const Tensor A = input(10, 64);
  const te::IterVar k = te::reduce_axis(0, 3, "k");
  const Tensor B = te::compute({8, 64}, [&](Var y, Var x) { return te::sum(A(Expr(y) + Expr(k), x), {k}); }, "B");
  const Args args = {
      A, te::compute(
             {16, 64},
             [&](Var y, Var x) { return te::if_then_else(Expr(y) < Expr(8), B(y, x), B(Expr(y) - Expr(8), x)); }, "C")};
  EXPECT_TRUE(std::ranges::none_of(claims(args), [](const std::string& c) { return c.starts_with("strips"); }));
  expect_right(args);
}

// What two outputs read, and what devices compute, is left to other rules.
TEST(SketchStrips, OneOutputOnOneCpu) {
  const Args args = blurs(37, 133, 7);
  EXPECT_EQ(claims(args, test::device()).back().substr(0, 7), "device_");
  const Tensor A = input(43, 139), B = window(A, 43, 133, "B", 1, 7);
  const Tensor C = window(B, 37, 133, "C", 7, 1), D = window(B, 41, 133, "D", 3, 1);
  const Target target = Target::parse("llvm").value_or_throw();
  for (const sketch::Stage& stage : sketch::analyse({C, D}, target).stages) EXPECT_FALSE(stage.strip) << stage.name;
  expect_right({A, C, D});
}

}  // namespace
}  // namespace tw::autotune
