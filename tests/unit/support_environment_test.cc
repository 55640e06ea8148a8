#include <gtest/gtest.h>

#include "src/support/environment.h"
#include "tests/unit/setting.h"

namespace tw::support {
namespace {

std::string said_of(const char* variable) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(number_of_environment_or_warning(variable, 7, 9), 7);
  return testing::internal::GetCapturedStderr();
}

TEST(Environment, EachVariableIsWarnedOfOnce) {
  const test::Setting one("TW_TEST_ONE", "abc"), other("TW_TEST_OTHER", "10");
  EXPECT_NE(said_of("TW_TEST_ONE").find("TW_TEST_ONE must be an integer from 1 to 9, not 'abc'"), std::string::npos);
  EXPECT_EQ(said_of("TW_TEST_ONE"), "");
  EXPECT_NE(said_of("TW_TEST_OTHER").find("TW_TEST_OTHER must be an integer from 1 to 9, not '10'"), std::string::npos);
}

}  // namespace
}  // namespace tw::support
