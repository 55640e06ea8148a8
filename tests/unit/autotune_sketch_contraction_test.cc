// Automatic spaces of contractions: what is claimed, and that random candidates compute right.
#include <gtest/gtest.h>

#include "autotune/sketch/sketch.h"
#include "tensorwright/ops.h"
#include "tests/unit/autotune_sketch_cases.h"

namespace tw::autotune {
namespace {

using namespace testing;

constexpr int kCandidates = 200;

void expect_right(const Args& args, int count = kCandidates) {
  const Sampled sampled = sample(args, count);
  EXPECT_TRUE(sampled.wrong.empty()) << sampled.wrong.size() << " are wrong, as " << sampled.wrong[0];
  EXPECT_LT(sampled.refused, count / 4) << sampled.refusals[0];
}

TEST(SketchContraction, MatmulOfOddSizes) { expect_right(matmul(37, 75, 41)); }
TEST(SketchContraction, LongSumsInBlocks) { expect_right(matmul(70, 67, 1537)); }
TEST(SketchContraction, FewOutputsOfLongSums) { expect_right(matmul(9, 21, 4500), 60); }
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
          .args,
      60);
}
TEST(SketchContraction, StridedConvolution7x7) {
  expect_right(convolution({.size = 19, .in = 3, .out = 20, .kernel = 7, .stride = 2, .pad = 3, .batch = 2}));
}
TEST(SketchContraction, NarrowIntegersWithoutTheInstruction) {
  expect_right(narrow(19, 53, 36, "uint8", "int8", "int32"), 60);
}
TEST(SketchContraction, NarrowIntegers) { expect_right(narrow(19, 64, 36, "uint8", "int8", "int32")); }
TEST(SketchContraction, BrainFloats) { expect_right(narrow(19, 96, 38, "bfloat16", "bfloat16", "float32")); }

}  // namespace
}  // namespace tw::autotune
