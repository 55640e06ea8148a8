#include <gtest/gtest.h>

#include "src/support/deep_stack.h"
#include "tests/unit/little_memory.h"

namespace tw::support {
namespace {

// Batch systems of clusters limit it.
TEST(DeepStack, IsLessDeepWhereAddressSpaceIsLimited) {
  if (*test::no_little_memory()) GTEST_SKIP() << "skipped: " << test::no_little_memory();
  EXPECT_EQ(test::returned_within(size_t{1} << 29, [] { return with_deep_stack([] { return 0; }); }), 0);
}

}  // namespace
}  // namespace tw::support
