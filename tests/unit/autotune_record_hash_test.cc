// The identity of computations: the same in every release, another for what another kernel computes.
#include <gtest/gtest.h>

#include <set>

#include "autotune/computation_hash.h"
#include "tests/unit/autotune_templates.h"

namespace tw::autotune {
namespace {

using te::Tensor;
using te::Var;

struct Computation {
  std::vector<Tensor> outputs, args;
  std::string hash() const { return computation_hash(outputs, args); }
  std::string text() const { return canonical_text(outputs, args); }
};

Computation dense(int m, int n, int k) {
  const testing::Dense d = testing::declare_dense(m, n, k);
  return {{d.D}, {d.A, d.B, d.bias, d.D}};
}

Computation twice(const std::string& dtype = "float32", const std::string& name = "y", const std::string& axis = "i",
                  te::Placeholder known = {}) {
  const Tensor x = te::placeholder({1000}, dtype, "x", std::move(known));
  const Tensor y = te::compute({1000}, [&](const std::vector<Var>& i) { return x(te::Expr(i[0])) + x(te::Expr(i[0])); },
                               name, {axis});
  return {{y}, {x, y}};
}

Computation softmax() {
  const Tensor x = te::placeholder({10, 23}, "float32", "x");
  const te::IterVar k = te::reduce_axis(0, 23, "k"), l = te::reduce_axis(0, 23, "l");
  const Tensor top = te::compute({10}, [&](Var i) { return te::max(x(i, k), {k}); }, "top");
  const Tensor e = te::compute({10, 23}, [&](Var i, Var j) { return te::exp(x(i, j) - top(i)); }, "e");
  const Tensor sum = te::compute({10}, [&](Var i) { return te::sum(e(i, l), {l}); }, "sum");
  const Tensor y = te::compute({10, 23}, [&](Var i, Var j) { return te::divide(e(i, j), sum(i)); }, "y");
  return {{y}, {x, y}};
}

Computation running_sum() {
  const Tensor x = te::placeholder({50, 3}, "float32", "x"), state = te::placeholder({50, 3}, "float32", "state");
  const Tensor init = te::compute({1, 3}, [&](Var, Var j) { return x(0, j); }, "init");
  const Tensor update =
      te::compute({50, 3}, [&](Var t, Var j) { return state(te::Expr(t) - 1, j) + x(t, j); }, "update");
  const Tensor s = te::scan({init}, {update}, {state}, "s").front();
  return {{s}, {x, s}};
}

// Written down once: records of earlier releases are found by these. A change here is a change of the schema.
TEST(TaskHash, IsWhatItWasInEveryRelease) {
  EXPECT_EQ(dense(257, 513, 1025).hash(), "d26322023dac83b1");
  EXPECT_EQ(twice().hash(), "4ad54dd49c5bd976");
  EXPECT_EQ(softmax().hash(), "a609a0d6e4402e10");
  EXPECT_EQ(running_sum().hash(), "d0c75dc42b9e41e9");
  EXPECT_EQ(twice().text(),
            "tensorwright task 1\n"
            "input 1:x float32[1000]\n"
            "compute 1:y float32[1000] over 1:i body 7fa3cb68b710bbb1\n"
            "arguments 0.0 1.0\n"
            "outputs 1.0\n");
}

TEST(TaskHash, DoesNotDependOnWhatWasMadeBefore) {
  const std::string first = dense(5, 7, 9).hash();
  te::var("elsewhere");
  softmax();
  EXPECT_EQ(dense(5, 7, 9).hash(), first);
  EXPECT_EQ(testing::dense_task(5, 7, 9).hash(), first);
}

TEST(TaskHash, DiffersWhereAnotherKernelOrAnotherScheduleIsMeant) {
  std::set<std::string> hashes;
  const auto fresh = [&](const Computation& c) { EXPECT_TRUE(hashes.insert(c.hash()).second) << c.text(); };
  fresh(twice());
  fresh(twice("float64"));
  fresh(twice("float32", "z"));
  fresh(twice("float32", "y", "row"));
  fresh(twice("float32", "y", "i", {.param = true}));
  fresh(twice("int8"));
  fresh(twice("int8", "y", "i", {.range = {{0, 3}}}));
  fresh(twice("float32", "y", "i", {.strides = {2}}));
  fresh(dense(5, 7, 9));
  fresh(dense(5, 7, 10));
  Computation swapped = dense(5, 7, 9);
  std::swap(swapped.args[0], swapped.args[1]);
  fresh(swapped);
  // a - b and b - a; i and j.
  const Tensor a = te::placeholder({4, 4}, "float32", "a"), b = te::placeholder({4, 4}, "float32", "b");
  for (const auto& body : std::vector<std::function<te::Expr(Var, Var)>>{
           [&](Var i, Var j) { return a(i, j) - b(i, j); }, [&](Var i, Var j) { return b(i, j) - a(i, j); },
           [&](Var i, Var j) { return a(j, i) - b(i, j); }}) {
    const Tensor c = te::compute({4, 4}, body, "c");
    fresh({{c}, {a, b, c}});
  }
}

// Each stage reads the one before twice: 2^200 paths.
TEST(TaskHash, SharedPartsCostOnce) {
  const Tensor x = te::placeholder({8}, "float32", "x");
  const Tensor y = te::compute(
      {8},
      [&](Var i) {
        te::Expr e = x(i);
        for (int n = 0; n < 200; ++n) e = e + e;
        return e;
      },
      "y");
  EXPECT_EQ(computation_hash({y}, {x, y}).size(), 16u);
}

}  // namespace
}  // namespace tw::autotune
