// What a C++ user of te writes with +, * and the like.
#include <gtest/gtest.h>

#include "tensorwright/te.h"

namespace tw::te {
namespace {

TEST(TeUserOperators, MixedOperandsAreTheUsersError) {
  Tensor a = placeholder({8}, "float32", "A"), b = placeholder({8}, "int32", "B");
  try {
    compute({8}, [&](Var i) { return a(i) * b(i); }, "C");
    FAIL() << "float32 * int32 was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kDType);
    EXPECT_NE(std::string(e.what()).find("float32 and int32"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("te::astype"), std::string::npos) << e.what();
  }
  EXPECT_EQ(compute({8}, [&](Var i) { return a(i) * astype(b(i), "float32") + 1; }, "D").dtype(), Type::f(32));
}

}  // namespace
}  // namespace tw::te
