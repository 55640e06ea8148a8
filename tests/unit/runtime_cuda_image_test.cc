// What the compiler's log says of functions, and which are not worth a run.
#include <gtest/gtest.h>

#include "src/runtime/cuda/image.h"

namespace tw::runtime::cuda {
namespace {

std::string log_of(const std::string& spills, const std::string& before = "") {
  return before +
         "ptxas info    : 0 bytes gmem\n"
         "ptxas info    : Compiling entry function 'tw_f_0' for 'sm_90a'\n"
         "ptxas info    : Function properties for tw_f_0\n"
         "    " +
         spills +
         "\n"
         "ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem\n";
}

TEST(Unfit, NothingIsWrongWithAFunctionThatFits) {
  const auto resources = resources_in(log_of("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_EQ(resources[0].registers, 40);
  EXPECT_FALSE(unfit(resources));
  EXPECT_FALSE(unfit({}));
}

TEST(Unfit, SpillsAreCountedInBytes) {
  const auto found = unfit(resources_in(log_of("8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads")));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "spills");
  EXPECT_EQ(found->why, "tw_f_0 has too few registers: a thread stores 12 bytes of them elsewhere and loads 16");
}

TEST(Unfit, WhatTheCompilerSerialises) {
  const auto found =
      unfit(resources_in(log_of("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                                "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                                "serialized due to insufficient register resources in the function 'tw_f_0'\n")));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, "serialised");
  EXPECT_NE(found->why.find("tw_f_0: C7510: Potential Performance Loss"), std::string::npos) << found->why;
}

}  // namespace
}  // namespace tw::runtime::cuda
