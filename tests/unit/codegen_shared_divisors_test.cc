// Vectors divided by a number that stands still: without the instruction for it, and the same bit for bit.
#include <cstdint>
#include <random>

#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string llvm_text(const std::string& program, const std::string& target) {
  return build(parse(program), parse_target(target))->source("llvm");
}

constexpr const char* kQuotientsOfRows =
    "kernel k(A: float32[16384], D: float32[16], C: out float32[16384]):\n"
    "  for i in 0..16:\n"
    "    for j in 0..32:\n"
    "      C[i * 1024 + j * 32 : 32] = A[i * 1024 + j * 32 : 32] / broadcast(D[i], 32)\n";

TEST(CodegenSharedDivisors, OnlyWhereAFullRegisterTakesLong) {
  const std::string with = llvm_text(kQuotientsOfRows, "llvm -mcpu=skylake-avx512");
  EXPECT_EQ(count(with, "fcmp oge <16 x float>"), 2) << with;  // one for each register
  EXPECT_EQ(count(with, "fdiv <16 x float>"), 2) << with;      // where that tells too little
  EXPECT_EQ(count(with, "fdiv float 1.000000e+00"), 1) << with;
  for (const char* target :
       {"llvm -mcpu=haswell", "llvm -mcpu=znver5", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"})
    EXPECT_EQ(count(llvm_text(kQuotientsOfRows, target), "fdiv float 1.000000e+00"), 0) << target;
}

TEST(CodegenSharedDivisors, NotForFewQuotients) {
  const auto straight = [](int registers) {
    std::string text = "kernel k(A: float32[64], D: float32[1], C: out float32[64]):\n";
    for (int i = 0; i < registers; ++i) {
      const std::string at = "[" + std::to_string(16 * i) + " : 16]";
      text += "  C" + at + " = A" + at + " / broadcast(D[0], 16)\n";
    }
    return llvm_text(text, "llvm -mcpu=skylake-avx512");
  };
  EXPECT_EQ(count(straight(3), "fcmp oge"), 0);
  EXPECT_EQ(count(straight(4), "fcmp oge <16 x float>"), 4);
  const std::string changes =
      "kernel k(A: float32[1024], D: float32[64], C: out float32[1024]):\n"
      "  for i in 0..64:\n"
      "    C[i * 16 : 16] = A[i * 16 : 16] / broadcast(D[i], 16)\n";
  EXPECT_EQ(count(llvm_text(changes, "llvm -mcpu=skylake-avx512"), "fcmp oge"), 0);
}

// This machine, as one that divides slowly if it has the registers for it.
Target slow_divider() {
  const Target slow = parse_target("llvm -mcpu=skylake-avx512");
  return slow.missing_here().empty() ? slow : native();
}

// A float of any exponent, or near one, or one whose next is a power of two, or none of the ordinary.
float number(std::mt19937_64& random) {
  constexpr uint32_t kSpecial[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x7f7fffff,
                                   0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x3f800000, 0xbf7fffff};
  const uint64_t bits = random();
  auto word = static_cast<uint32_t>(bits);
  switch (bits >> 32 & 7) {
    case 0:
      word = kSpecial[(bits >> 35) % std::size(kSpecial)];
      break;
    case 1:
      word = (word & 0x80000000) | static_cast<uint32_t>(127 - 45 + (bits >> 35) % 90) << 23 |
             ((bits >> 50 & 1) ? 0x7fffff : 0);
      break;
    case 2:
    case 3:
    case 4:
      word = (word & 0x807fffff) | static_cast<uint32_t>(127 - 4 + (bits >> 35) % 8) << 23;
      break;
    default:
      break;
  }
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

TEST(CodegenSharedDivisors, QuotientsAreRoundedOnce) {
  constexpr size_t kRows = 16, kColumns = 1024;
  const auto module = build(parse(kQuotientsOfRows), slow_divider());
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> a(kRows * kColumns), d(kRows), expected(a.size()), got(a.size());
    for (float& x : a) x = number(random);
    for (float& x : d) x = number(random);
    for (size_t i = 0; i < a.size(); ++i) {
      // Of quotients that lie as near to the middle between two floats as they can, more than by chance.
      if (i % 4 == 0) a[i] = std::nextafter(number(random), 1.0f) * d[i / kColumns];
      expected[i] = a[i] / d[i / kColumns];
    }
    void* pointers[] = {a.data(), d.data(), got.data()};
    ASSERT_EQ(module->kernel()->run(pointers), 0);
    ASSERT_TRUE(same_floats<float>(bytes_of(expected), bytes_of(got))) << "round " << round;
  }
}

// Whichever lane it is: all others are as they were.
TEST(CodegenSharedDivisors, OneLaneThatTellsTooLittle) {
  const ir::Program program = parse(kQuotientsOfRows);
  std::vector<float> a(16 * 1024);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 977 + 1);
  for (size_t row = 0; row < 16; ++row) a[row * 1024 + 64 * row + row] = row % 2 ? -0.0f : 1e-44f;
  expect_all_agree(program, {bytes_of(a), bytes_of(counting(16)), Bytes(a.size() * 4)}, slow_divider());
}

#endif

}  // namespace
}  // namespace tw
