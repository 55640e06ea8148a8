// The reference that candidates are checked against is itself checked: a kernel that is wrong in one place is found.
#include <gtest/gtest.h>

#include <limits>
#include <regex>

#include "autotune/log/stock.h"
#include "autotune/measure/check_data.h"
#include "src/runtime/arguments.h"
#include "tensorwright/te_functions.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/autotune_templates.h"

namespace tw::autotune {
namespace {

using namespace testing;

constexpr int kM = 5, kN = 7, kK = 50;

// relu(A @ B + bias) in plain C++, with one mistake or none.
std::vector<runtime::ArgSpec> dense_specs() {
  const ir::Type f32 = ir::Type::f(32);
  return {{"A", f32, {kM, kK}, {}, false},
          {"B", f32, {kK, kN}, {}, false},
          {"bias", f32, {kN}, {}, false},
          {"D", f32, {kM, kN}, {}, true}};
}

Blob plain_dense(const Blob& inputs, bool last_term_forgotten) {
  const std::vector<size_t> at = runtime::argument_offsets(dense_specs());
  std::string bytes(inputs.bytes());
  const auto argument = [&](size_t i) { return reinterpret_cast<float*>(bytes.data() + at[i]); };
  const float *a = argument(0), *b = argument(1), *bias = argument(2);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK - last_term_forgotten; ++k) sum += a[i * kK + k] * b[k * kN + j];
      argument(3)[i * kN + j] = std::max(sum + bias[j], 0.0f);
    }
  }
  return Blob(bytes);
}

TEST(CheckData, ARightReferenceIsTakenWithTolerancesForOutputs) {
  const Dense d = declare_dense(kM, kN, kK);
  const CheckData data = make_check_data({d.D}, {d.A, d.B, d.bias, d.D}, dense_specs(),
                                         [](const Blob& inputs) { return plain_dense(inputs, false); });
  EXPECT_EQ(data.args.size(), 4u);
  EXPECT_GT(data.rtol[3], 0);
  EXPECT_LT(data.rtol[3], 1e-5);
  EXPECT_GT(data.atol[3], 0);
  EXPECT_EQ(data.inputs.size(), runtime::argument_offsets(dense_specs()).back());
  EXPECT_EQ(data.reference.size(), data.inputs.size());
}

TEST(CheckData, AWrongReferenceIsFound) {
  const Dense d = declare_dense(kM, kN, kK);
  try {
    make_check_data({d.D}, {d.A, d.B, d.bias, d.D}, dense_specs(),
                    [](const Blob& inputs) { return plain_dense(inputs, true); });
    FAIL() << "not found";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInternal);
    EXPECT_TRUE(std::regex_search(e.what(), std::regex(R"(D\[[0-4], [0-6]\] should be [-.0-9]+ and is [-.0-9]+)")))
        << e.what();
  }
}

TEST(Tolerance, IsOfTheTypeInWhichSumsAreMade) {
  const Args bf16 = narrow(16, 32, 4096, "bfloat16", "bfloat16", "float32"), f32 = matmul(16, 32, 4096);
  EXPECT_EQ(tolerance({bf16.back()}), tolerance({f32.back()})) << "products of bfloat16 are exact in float32";
  EXPECT_LT(tolerance({bf16.back()}), 1e-4);
  const Tensor copied = te::compute({16, 32}, [&](Var i, Var j) { return bf16.back()(i, j); }, "copied");
  EXPECT_EQ(tolerance({copied}), tolerance({bf16.back()}));
  const Tensor rounded =
      te::compute({16, 32}, [&](Var i, Var j) { return te::astype(bf16.back()(i, j), "float16"); }, "rounded");
  EXPECT_GT(tolerance({rounded}), 100 * tolerance({bf16.back()}));
  EXPECT_LT(tolerance({rounded}), 0.02);
}

TEST(Tolerance, GrowsWithTheReductionAndIsZeroForIntegers) {
  EXPECT_EQ(tolerance(ir::Type::i(32), 1000), 0);
  EXPECT_LT(tolerance(ir::Type::f(32), 10), tolerance(ir::Type::f(32), 1000));
  EXPECT_LT(tolerance(ir::Type::f(64), 1000), tolerance(ir::Type::f(32), 10));
}

TEST(Tolerance, IntegersHaveThatOfTheFloatsThatTheyComeOf) {
  const Args f32 = matmul(16, 32, 4096);
  const auto of_c = [&](const auto& f) {
    return te::compute({16, 32}, [&](Var i, Var j) { return f(f32.back()(i, j)); }, "Y");
  };
  const Tensor whole = of_c([](Expr c) { return te::astype(te::nearbyint(c), "int8"); });
  EXPECT_EQ(tolerance({whole}), tolerance({f32.back()})) << "neither the conversion nor a choice rounds";
  const Tensor scaled = of_c([](Expr c) { return te::astype(c * te::constant(3, "float32"), "int8"); });
  EXPECT_EQ(tolerance({scaled}), tolerance({f32.back()}) + tolerance(ir::Type::f(32), 1));
  EXPECT_EQ(step_tolerance({f32.back()}), 0);
  const Tensor back = te::compute({16, 32}, [&](Var i, Var j) { return te::astype(whole(i, j), "float32"); }, "back");
  EXPECT_GT(step_tolerance({back}), 1.0 / 127);
  const std::vector<runtime::ArgSpec> specs = {{"y", ir::Type::i(8), {16, 32}, {}, true},
                                               {"x", ir::Type::f(32), {16, 32}, {}, true}};
  const CheckData data = unchecked_data({whole, back}, specs);
  EXPECT_LT(data.rtol[0], 1e-4);
  EXPECT_GT(data.rtol[1], 1.0 / 127);
  const Tensor A = te::placeholder({20}, "float32", "A");
  const Tensor floor = te::compute({20}, [&](Var i) { return te::astype(te::floor(A(i)), "int32"); }, "floor");
  EXPECT_EQ(unchecked_data({floor}, {{"y", ir::Type::i(32), {20}, {}, true}}).rtol[0], 0)
      << "nothing was rounded before";
}

TEST(Tolerance, WhatChoosesDoesNotRound) {
  const Tensor A = te::placeholder({3000, 20}, "float16", "A");
  const te::IterVar k = te::reduce_axis(0, 3000, "k"), q = te::reduce_axis(0, 3000, "q");
  const Tensor largest = te::compute({20}, [&](Var i) { return te::max(A(k, i), {k}); }, "largest");
  EXPECT_EQ(tolerance({largest}), 0);
  const Tensor doubled = te::compute({20}, [&](Var i) { return te::max(A(q, i) + A(q, i), {q}); }, "doubled");
  EXPECT_EQ(tolerance({doubled}), tolerance(ir::Type::f(16), 1)) << "each is rounded once";
}

// Two million squares, added one by one in the reference and in many chains by candidates.
TEST(CheckData, LongSumsInOtherOrdersAreWithinTheTolerance) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "skipped: built without LLVM, where nothing is tuned";
  TuneOptions o;
  o.trials = 4;
  o.confirm = 0;
  const TuneResult result = tune(stock_task("var", {{"shape", "1000x2000"}}, Target::host()), o);
  for (const Trial& t : result.trials) EXPECT_TRUE(t.timed()) << t.status << ": " << t.detail;
}

}  // namespace
}  // namespace tw::autotune
