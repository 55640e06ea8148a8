// What shapes say about the variables in them.
#include <gtest/gtest.h>

#include "src/ir/scalars.h"

namespace tw::ir {
namespace {

TEST(Scalars, ExtentsAreNotNegative) {
  const Var n("n"), m("m");
  const Bounds all = bounds_of_extents({Expr(n) - Expr(2), Expr(4), Expr(7) - Expr(m) * Expr(2), Expr(n) * Expr(m)});
  EXPECT_EQ(all.at(n.id()).lo, 2);
  EXPECT_EQ(all.at(m.id()), (Interval{Interval::kNegInf, 3}));
  const Bounds plain = bounds_of_extents({Expr(n)});
  EXPECT_EQ(plain.at(n.id()), (Interval{0, kLargestExtent}));
}

TEST(Scalars, ProofsUseWhatHoldsBesides) {
  const Var n("n"), i("i"), j("j");
  const Bounds bounds{{n.id(), {0, kLargestExtent}}, {i.id(), {0, kLargestExtent}}, {j.id(), {0, 2}}};
  const Expr inside = Expr(i) + Expr(j) < Expr(n) + Expr(2);
  EXPECT_FALSE(can_prove(inside, bounds, {}));
  EXPECT_TRUE(can_prove(inside, bounds, {Expr(i) < Expr(n)}));
  EXPECT_FALSE(can_prove(Expr(i) + Expr(j) < Expr(n) + Expr(1), bounds, {Expr(i) < Expr(n)}));
}

}  // namespace
}  // namespace tw::ir
