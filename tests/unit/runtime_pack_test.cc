// Packing the parameters of a kernel, what it refuses, and the promises about values.
#include <gtest/gtest.h>

#include <cstring>

#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

const ir::Type kI8 = ir::Type::i(8);
constexpr const char* kLayout = "[6] -> [i % 2, i // 2], pad 0";

// Packs B[6] as [2, 3]: the even elements, then the odd ones.
int32_t even_and_odd(const tw_args* args, const tw_context*) {
  const auto* from = static_cast<const int8_t*>(args->data[0]);
  auto* to = static_cast<int8_t*>(args->data[1]);
  for (int i = 0; i < 6; ++i) to[i % 2 * 3 + i / 2] = from[i];
  return 0;
}

int32_t copy(const tw_args* args, const tw_context*) {
  std::memcpy(args->data[1], args->data[0], 6);
  return 0;
}

// C = B as it is packed.
std::shared_ptr<const Kernel> copying(bool packs = true) {
  const auto packer =
      make_kernel(even_and_odd, {{"B", kI8, {6}, {}, false}, {"B.packed", kI8, {2, 3}, {}, true}}, "f_pack_B", nullptr);
  ArgSpec b{"B", kI8, {2, 3}, {}, false};
  b.layout = kLayout;
  b.range = {{-4, 6}};
  Packers packers = {packs ? packer : nullptr, nullptr};
  return make_kernel(copy, {b, {"C", kI8, {6}, {}, true}}, "f", nullptr, {}, {}, std::move(packers));
}

struct PackTest : testing::Test {
  int8_t b_[6] = {1, 2, 3, 4, 5, 6}, c_[6] = {};
  ArrayView declared_{b_, kI8, {6}, {}, true}, output_{c_, kI8, {6}, {}, false};
  std::string refusal(const ArrayView& view) const {
    const Status status = check_args(*copying(), std::vector{view, output_});
    return status.ok() ? "ok" : status.error().render();
  }
};

TEST_F(PackTest, PacksForItsKernel) {
  const auto kernel = copying();
  const Packed packed = pack(*kernel, 0, declared_);
  EXPECT_EQ(packed.view.layout, kLayout);
  EXPECT_EQ(packed.view.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(packed.view.data) % 64, 0u);
  call(*kernel, std::vector{packed.view, output_});
  EXPECT_EQ(std::vector<int8_t>(c_, c_ + 6), (std::vector<int8_t>{1, 3, 5, 2, 4, 6}));
}

TEST_F(PackTest, WhatIsPackedStays) {
  const Packed packed = pack(*copying(), 0, declared_);
  const Packed again = pack(*copying(), 0, packed.view);
  EXPECT_EQ(again.memory, nullptr);
  EXPECT_EQ(again.view.data, packed.view.data);
}

TEST_F(PackTest, OnlyItsLayoutIsTaken) {
  ArrayView view{b_, kI8, {2, 3}, {}, true};
  EXPECT_EQ(refusal(view),
            "f: argument 1 (B): B is packed as 2x3 by this kernel\n"
            "    pass f.pack(\"B\", array), made once for all calls");
  view.layout = "[6] -> [i // 3, i % 3], pad 0";
  EXPECT_NE(refusal(view).find("must be packed as [6] -> [i % 2, i // 2], pad 0, not as [6] -> [i // 3, i % 3]"),
            std::string::npos);
  view.layout = kLayout;
  EXPECT_EQ(refusal(view), "ok");
}

TEST_F(PackTest, RefusesWhatIsNotAsDeclared) {
  EXPECT_THROW(pack(*copying(), 1, output_), Error);
  EXPECT_THROW(pack(*copying(false), 0, declared_), Error);
  ArrayView other = declared_;
  other.shape = {5};
  EXPECT_THROW(pack(*copying(), 0, other), Error);
  other = declared_;
  other.dtype = ir::Type::u(8);
  EXPECT_THROW(pack(*copying(), 0, other), Error);
  other = declared_;
  other.layout = "[6] -> [i], pad 0";
  EXPECT_THROW(pack(*copying(), 0, other), Error);
}

TEST_F(PackTest, PromisesAreChecked) {
  EXPECT_TRUE(check_range(*copying(), 0, declared_).ok());
  b_[4] = 7;
  const Status status = check_range(*copying(), 0, declared_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what, "f: B is promised to be in -4..6, and B[4] is 7");
  const ArrayView every_other{b_, kI8, {3}, {2}, true};
  EXPECT_FALSE(check_range(*copying(), 0, every_other).ok());
  const ArrayView others{b_ + 1, kI8, {3}, {2}, true};
  EXPECT_TRUE(check_range(*copying(), 0, others).ok());
  const ArrayView none{nullptr, kI8, {0}, {}, true};
  EXPECT_TRUE(check_range(*copying(), 0, none).ok());
}

}  // namespace
}  // namespace tw::runtime
