// The reference that candidates are checked against is itself checked: a kernel that is wrong in one place is found.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>

#include "autotune/check_data.h"
#include "autotune/stock.h"
#include "tests/unit/autotune_sketch_cases.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/compile_c.h"

namespace tw::autotune {
namespace {

using namespace testing;

constexpr int kM = 5, kN = 7, kK = 50;

// relu(A @ B + bias) in plain C++, with one mistake or none.
class PlainDense final : public runtime::Kernel {
 public:
  explicit PlainDense(bool last_term_forgotten) : forgotten_(last_term_forgotten) {
    const ir::Type f32 = ir::Type::f(32);
    args_ = {{"A", f32, {kM, kK}, {}, false},
             {"B", f32, {kK, kN}, {}, false},
             {"bias", f32, {kN}, {}, false},
             {"D", f32, {kM, kN}, {}, true}};
  }
  const std::string& name() const override { return name_; }
  const std::vector<runtime::ArgSpec>& args() const override { return args_; }
  int32_t run(void* const* data) const override {
    const auto *a = static_cast<const float*>(data[0]), *b = static_cast<const float*>(data[1]),
               *bias = static_cast<const float*>(data[2]);
    auto* d = static_cast<float*>(data[3]);
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN; ++j) {
        float sum = 0;
        for (int k = 0; k < kK - forgotten_; ++k) sum += a[i * kK + k] * b[k * kN + j];
        d[i * kN + j] = std::max(sum + bias[j], 0.0f);
      }
    }
    return 0;
  }

 private:
  std::string name_ = "dense";
  std::vector<runtime::ArgSpec> args_;
  int forgotten_;
};

TEST(CheckData, ARightReferenceIsTakenWithTolerancesForOutputs) {
  const Dense d = declare_dense(kM, kN, kK);
  const test::Folder folder;
  const CheckData data = make_check_data({d.D}, {d.A, d.B, d.bias, d.D}, PlainDense(false), folder / "");
  EXPECT_EQ(data.args.size(), 4u);
  EXPECT_GT(data.rtol[3], 0);
  EXPECT_LT(data.rtol[3], 1e-5);
  EXPECT_GT(data.atol[3], 0);
  EXPECT_TRUE(std::ifstream(data.inputs_path).good());
  EXPECT_TRUE(std::ifstream(data.reference_path).good());
}

TEST(CheckData, AWrongReferenceIsFound) {
  const Dense d = declare_dense(kM, kN, kK);
  const test::Folder folder;
  try {
    make_check_data({d.D}, {d.A, d.B, d.bias, d.D}, PlainDense(true), folder / "");
    FAIL() << "not found";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInternal);
    EXPECT_NE(std::string(e.what()).find("D["), std::string::npos) << e.what();
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
  for (const Trial& t : result.trials) EXPECT_TRUE(t.ok() || t.status == "beaten") << t.status << ": " << t.detail;
}

}  // namespace
}  // namespace tw::autotune
