// Random inputs: the same on each machine, however many threads make them.
#include <gtest/gtest.h>

#include "src/runtime/arguments.h"
#include "src/runtime/inputs.h"
#include "src/support/rng.h"

namespace tw {
namespace {

TEST(Inputs, NumbersCanBeSkipped) {
  support::Rng one(9), other(9);
  for (int i = 0; i < 5; ++i) one.next();
  other.skip(5);
  EXPECT_EQ(one.next(), other.next());
}

// Several threads make them: each element is what one thread would have drawn, those behind it too.
TEST(Inputs, AreThoseOfOneThread) {
  const int64_t elements = (int64_t{2} << 20) + 3;
  runtime::ArgSpec wide, narrow;
  wide.dtype = ir::Type::f(32);
  narrow.dtype = ir::Type::i(32);
  wide.shape = {elements};
  narrow.shape = {7};
  const auto made = runtime::random_inputs({wide, narrow});
  const std::vector<size_t> offsets = runtime::argument_offsets({wide, narrow});
  support::Rng rng(2024);
  const auto* floats = reinterpret_cast<const float*>(static_cast<const char*>(made.data()) + offsets[0]);
  for (int64_t i = 0; i < elements; ++i) ASSERT_EQ(floats[i], static_cast<float>(2 * rng.uniform() - 1)) << i;
  const auto* integers = reinterpret_cast<const int32_t*>(static_cast<const char*>(made.data()) + offsets[1]);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(integers[i], static_cast<int32_t>(rng.below(17)) - 8) << i;
}

}  // namespace
}  // namespace tw
