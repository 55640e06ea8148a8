// Symbolic shapes at a call.
#include <gtest/gtest.h>

#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

using ir::Expr;

const ir::Type kF32 = ir::Type::f(32);

struct Fixture {
  ir::Var n{"n"}, gain{"gain", kF32};
  std::shared_ptr<const Kernel> kernel = make_kernel(
      [](const tw_args* args, const tw_context*) -> int32_t {
        const int64_t size = *static_cast<const int64_t*>(args->data[3]);
        for (int64_t i = 0; i < size; ++i)
          static_cast<float*>(args->data[1])[i] = *static_cast<const float*>(args->data[2]) * static_cast<float>(size);
        return 0;
      },
      {{"A", kF32, {-1, -1}, {}, false, {Expr(n), Expr(n) - Expr(2)}}, {"C", kF32, {-1}, {}, true, {Expr(n)}}}, "k",
      nullptr, {{gain, 1}, {n, -1}});
  float a[64] = {}, c[8] = {};
  std::vector<ArrayView> views(int64_t rows, int64_t columns, int64_t out) {
    return {{a, kF32, {rows, columns}, {}}, {c, kF32, {out}, {}}};
  }
  ScalarValue two = 0x40000000;  // 2.0f
  std::string refusal(int64_t rows, int64_t columns, int64_t out) {
    const Status status = check_args(*kernel, views(rows, columns, out), {&two, 1});
    return status.ok() ? "" : status.error().what;
  }
};

TEST(Extents, AreReadOffTheArrays) {
  Fixture f;
  call(*f.kernel, f.views(4, 2, 4), {&f.two, 1});
  EXPECT_EQ(f.c[3], 8);
  EXPECT_EQ(f.c[4], 0);
}

TEST(Extents, AreCheckedAgainstEachOther) {
  Fixture f;
  EXPECT_EQ(f.refusal(2, 0, 2), "");
  EXPECT_EQ(f.refusal(4, 3, 4), "k: argument 1 (A): dimension 1 must be n - 2 = 2, not 3");
  EXPECT_EQ(f.refusal(4, 2, 5), "k: argument 3 (C): dimension 0 must be n = 4, not 5");
  EXPECT_EQ(f.refusal(1, 0, 1), "k: argument 1 (A): dimension 1 must be n - 2, which must not be negative: -1");
  EXPECT_EQ(f.refusal(int64_t{1} << 40, (int64_t{1} << 40) - 2, int64_t{1} << 40),
            "k: argument 1 (A): a tensor has at most 2**56 elements, (1099511627776, 1099511627774) makes more");
  EXPECT_EQ(argument_names(*f.kernel), "A, gain, C");
  EXPECT_FALSE(check_args(*f.kernel, f.views(4, 2, 4)).ok());
}

TEST(Extents, AreEvaluatedAsTheKernelDoes) {
  const ir::Var n("n"), m("m");
  const Values values{{n.id(), 7}, {m.id(), 0}};
  EXPECT_EQ(evaluate(ir::floordiv(Expr(n) - Expr(9), Expr(4)), values), -1);
  EXPECT_EQ(evaluate(ir::floordiv(n, m), values), 0);
  EXPECT_EQ(evaluate(ir::floormod(n, m), values), 0);
  EXPECT_EQ(evaluate(ir::max(Expr(n) * Expr(m), Expr(3)), values), 3);
  EXPECT_EQ(evaluate(Expr(n) * Expr(int64_t{1} << 62), values), std::nullopt);
  EXPECT_EQ(evaluate(ir::Var("other"), values), std::nullopt);
}

}  // namespace
}  // namespace tw::runtime
