// The estimate of a device's schedules: what is known to be faster is estimated so.
#include "autotune/model/device_prior.h"
#include "tests/unit/autotune_sketch_cases.h"

namespace tw::autotune {
namespace {

using namespace testing;
using schedule::Bind;
using schedule::Split;

const Target& device() {
  static const Target target = Target::parse("cuda -arch=sm_90a").value_or_throw();
  return target;
}

double estimate(const schedule::Schedule& s) {
  return estimate_device_seconds(s, schedule::describe_machine(device(), {}));
}

// The candidate of matmul's space with these values.
double product(int m, int n, int k, const std::string& tile, int terms) {
  const Task task(matmul(m, n, k), device());
  const std::string wanted = "{\"C.terms\":" + std::to_string(terms) + ",\"C.tile\":" + tile + "}";
  for (uint64_t index = 0; index < task.space().size(); ++index) {
    const std::string knobs = task.space().describe(index);
    if (knobs.find("\"C.tile\":" + tile) == knobs.npos ||
        knobs.find("\"C.terms\":" + std::to_string(terms)) == knobs.npos)
      continue;
    return estimate(task.candidate(index).value_or_throw().schedule);
  }
  ADD_FAILURE() << "no candidate " << wanted;
  return 0;
}

// A copy of [rows, columns], whose threads are neighbours along one axis or the other.
double copy(bool along_rows) {
  const Tensor A = te::placeholder({4096, 4096}, "float32", "A");
  const Tensor B = te::compute({4096, 4096}, [&](Var i, Var j) { return A(i, j); }, "B");
  schedule::Schedule s({B});
  const std::string block = along_rows ? "i" : "j", thread = along_rows ? "j" : "i";
  s.apply(Split{"B", thread, schedule::Factor(256), {}, ir::Tail::kAuto});
  s.apply(Bind{"B", block, "blockIdx.y"});
  s.apply(Bind{"B", thread + ".o", "blockIdx.x"});
  s.apply(Bind{"B", thread + ".i", "threadIdx.x"});
  return estimate(s);
}

TEST(DevicePrior, NeighboursInMemoryAreReadTogether) { EXPECT_GT(copy(false), 3 * copy(true)); }

TEST(DevicePrior, ACopyTakesWhatMemoryGives) {
  const double least = 2 * 4096.0 * 4096 * 4 / 3.35e12;
  EXPECT_GE(copy(true), least);
  EXPECT_LE(copy(true), 2 * least);
}

TEST(DevicePrior, LargeTilesReadLess) {
  EXPECT_LT(product(4096, 4096, 4096, "[128,128,8,4,2]", 16), product(4096, 4096, 4096, "[32,32,2,4,1]", 16));
  EXPECT_LT(product(4096, 4096, 4096, "[128,128,8,4,2]", 16), product(4096, 4096, 4096, "[16,16,1,1,1]", 16));
}

TEST(DevicePrior, AProductTakesNoLessThanItsArithmetic) {
  const double least = 4096.0 * 4096 * 4096 / (132 * 1.76e9 * 128);
  EXPECT_GE(product(4096, 4096, 4096, "[128,128,8,4,2]", 16), least);
  EXPECT_LE(product(4096, 4096, 4096, "[128,128,8,4,2]", 16), 4 * least);
}

// Tensor cores do what they can, and a good part of it: 2048 multiply-adds of a processor in a cycle.
TEST(DevicePrior, AProductOfTensorCoresTakesNoLessThanItsProducts) {
  const Tensor A = te::placeholder({4096, 4096}, "bfloat16", "A"), B = te::placeholder({4096, 4096}, "bfloat16", "B");
  const te::IterVar k = te::reduce_axis(0, 4096, "k");
  const Tensor C = te::compute(
      {4096, 4096},
      [&](Var i, Var j) { return te::sum(te::astype(A(i, k), "float32") * te::astype(B(j, k), "float32"), {k}); }, "C");
  const double least = 4096.0 * 4096 * 4096 / (132 * 1.76e9 * 2048), chosen = estimate(default_schedule({C}, device()));
  EXPECT_GE(chosen, least);
  EXPECT_LE(chosen, 4 * least);
}

TEST(DevicePrior, SmallResultsWantSmallTiles) {
  EXPECT_LT(product(256, 256, 4096, "[32,32,2,4,1]", 16), product(256, 256, 4096, "[128,128,8,4,2]", 16));
}

TEST(DevicePrior, TheDefaultScheduleIsAmongTheBest) {
  const Args args = matmul(4096, 4096, 4096);
  const double chosen = estimate(default_schedule({args.back()}, device()));
  EXPECT_LE(chosen, product(4096, 4096, 4096, "[128,128,8,4,2]", 16));
}

}  // namespace
}  // namespace tw::autotune
