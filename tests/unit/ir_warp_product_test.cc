// Lane maps of products of a warp: every element of a matrix is one lane's, in each of the ways to ask.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "src/ir/group_products.h"
#include "src/ir/simplify.h"

namespace tw::ir {
namespace {

TEST(WarpProducts, LanesHoldEachElementOnce) {
  for (const WarpProduct& product : warp_products()) {
    for (const Fragment which : kFragments) {
      SCOPED_TRACE(std::string(product.name) + ", " + std::to_string(static_cast<int>(which)));
      const int rows = which == Fragment::kRight ? product.k : product.m;
      const int columns = which == Fragment::kLeft ? product.k : product.n;
      const LaneMap map = lane_map(product, which);
      std::set<std::pair<int, int>> held;
      for (int lane = 0; lane < kLanesOfWarp; ++lane)
        for (int i = 0; i < elements_of(product, which); ++i) {
          const auto [row, column] = place_of(map, lane, i);
          EXPECT_TRUE(row >= 0 && row < rows && column >= 0 && column < columns) << row << ", " << column;
          held.insert({row, column});
          const MatrixPlace<Expr> same = place_of(map, Expr(lane), Expr(i));
          EXPECT_TRUE(is_int(simplify(same.row), row) && is_int(simplify(same.column), column));
        }
      EXPECT_EQ(static_cast<int>(held.size()), rows * columns);
    }
  }
}

// Of four warps' products the sums alone are registers.
TEST(WarpProducts, ThreadsOfFourHoldEachSumOnce) {
  for (const WarpProduct& product : group_products()) {
    const LaneMap map = lane_map(product, Fragment::kSum);
    std::set<std::pair<int, int>> held;
    for (int lane = 0; lane < kLanesOfGroup; ++lane)
      for (int i = 0; i < elements_of(product, Fragment::kSum); ++i) {
        const auto [row, column] = place_of(map, lane, i);
        EXPECT_TRUE(row >= 0 && row < product.m && column >= 0 && column < product.n) << product.name;
        held.insert({row, column});
      }
    EXPECT_EQ(static_cast<int>(held.size()), product.m * product.n) << product.name;
  }
}

TEST(WarpProducts, AreKnownByName) {
  EXPECT_NE(device_product("wgmma.m64n256k16.bf16"), nullptr);
  EXPECT_NE(device_product("wgmma.m64n24k32.s8"), nullptr);
  EXPECT_EQ(device_product("wgmma.m64n40k32.s8"), nullptr);
  EXPECT_EQ(device_product("wgmma.fence"), nullptr);
  EXPECT_TRUE(is_of_group("wgmma.fence") && is_of_group("fence.async") && !is_of_group("mma.m16n8k32.s8"));

  EXPECT_NE(warp_product("mma.m16n8k32.s8"), nullptr);
  EXPECT_EQ(warp_product("mma.m16n8k32"), nullptr);
  EXPECT_EQ(warp_product("expf"), nullptr);
}

}  // namespace
}  // namespace tw::ir
