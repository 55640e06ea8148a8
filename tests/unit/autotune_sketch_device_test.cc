// Automatic spaces of devices: which rules claim what, and candidates against the definition in the interpreter, which
// looks for races and for barriers that threads do not reach together.
#include "autotune/sketch/sketch.h"
#include "src/ir/interp.h"
#include "tensorwright/ops.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/unit/autotune_sketch_cases.h"

namespace tw::autotune {
namespace {

using namespace testing;
using tw::testing::CudaOnHost;

const Target& device() {
  static const Target target = Target::parse("cuda -arch=sm_90a").value_or_throw();
  return target;
}

std::vector<std::string> rules(const Args& args) {
  std::vector<std::string> names;
  for (const sketch::Claim& claim : sketch::partition(sketch::analyse({args.back()}), device()))
    names.emplace_back(claim.rule->name);
  return names;
}

// By the text that is made of a program.
std::vector<Bytes> on_host(const ir::Program& lowered, std::vector<Bytes> data) {
  const codegen::CudaSource source = codegen::cuda_source({lowered}, device());
  std::vector<void*> at;
  for (Bytes& bytes : data) at.push_back(bytes.data());
  CudaOnHost(source).run(source.plans[0], at, nullptr);
  return data;
}

// The first candidate and some others, lowered for the device.
void expect_right(const Args& args, int count = 4) {
  const Task task = task_of(args, device());
  const ir::Program naive = te::naive_program(task.outputs(), args);
  std::vector<Bytes> data;
  for (size_t i = 0; i < naive.params.size(); ++i) data.push_back(small_integers(naive.params[i].buffer, 1 + i));
  const std::vector<Bytes> expected = run_interpreted(naive, data);
  support::Rng rng(1);
  for (int n = 0; n < fewer(count); ++n) {
    const uint64_t index = n == 0 ? 0 : rng.below(task.space().size());
    const Result<Scheduled> s = task.candidate(index);
    ASSERT_TRUE(s.ok()) << s.error().render();
    const ir::Program lowered = lowered_program(s->schedule, s->args, device());
    const std::vector<Bytes> got = run_interpreted(lowered, data);
    for (size_t i = 0; i < got.size(); ++i) {
      const bool same = !naive.params[i].written || same_values(naive.params[i].buffer.element(), expected[i], got[i]);
      EXPECT_TRUE(same) << task.space().describe(index);
    }
    EXPECT_TRUE(on_host(lowered, data) == got) << "the text of " << task.space().describe(index);
  }
}

Args row_sums(int rows, int terms) {
  const Tensor A = te::placeholder({rows, terms}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, terms, "k");
  return {A, te::compute({rows}, [&](Var i) { return te::sum(A(i, k), {k}); }, "S")};
}

TEST(SketchDevice, RulesClaimWhatTheyAreFor) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(rules(matmul(64, 64, 64)), Names{"device_contraction"});
  EXPECT_EQ(rules(dense(64, 64, 64)), Names{"device_contraction"});
  EXPECT_EQ(rules(row_sums(64, 64)), Names{"device_reduction"});
  EXPECT_EQ(rules(row_sums(64, 16)), Names{"device_pointwise"});
}

TEST(SketchDevice, Products) {
  expect_right(matmul(32, 32, 16));
  expect_right(matmul(33, 17, 19));
  expect_right(matmul(17, 33, 8, true));
  expect_right(batch_matmul(2, 16, 24, 9));
}

TEST(SketchDevice, ProductsWithAnEpilogue) { expect_right(dense(20, 33, 12)); }

TEST(SketchDevice, Convolutions) {
  expect_right(convolution({.size = 6, .in = 5, .out = 17, .kernel = 3, .pad = 1}), 2);
  expect_right(convolution({.size = 7, .in = 4, .out = 16, .kernel = 1, .stride = 2}), 2);
}

TEST(SketchDevice, RowsAndElements) {
  expect_right(row_sums(5, 77));
  expect_right(row_sums(3, 12));
  const Tensor A = te::placeholder({9, 70}, "float32", "A");
  expect_right({A, te::compute({9, 70}, [&](Var i, Var j) { return A(i, j) * A(i, j); }, "B")});
  expect_right({A, te::compute({70, 9}, [&](Var i, Var j) { return A(j, i); }, "B")});
  const te::IterVar i = te::reduce_axis(0, 9, "i"), k = te::reduce_axis(0, 70, "k");
  expect_right({A, te::compute({1}, [&](Var) { return te::sum(A(i, k), {i, k}); }, "S")});
}

}  // namespace
}  // namespace tw::autotune
