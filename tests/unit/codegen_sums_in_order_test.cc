// Sums of integers in the registers of a loop: terms are added in the order in which they are written.
#include <cstdint>
#include <numeric>

#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

constexpr int kSteps = 16, kTerms = 4;

// S[i] += the products of four columns of A[i] and rows of B, in each of 16 steps, for so many vectors of 8 lanes.
std::string sums(int vectors) {
  const auto number = [](int n) { return std::to_string(n); };
  const std::string all = number(8 * vectors);
  std::string text = "kernel k(A: int8[" + number(vectors * kSteps * kTerms) + "], B: int8[" +
                     number(kSteps * kTerms * 8) + "], C: out int32[" + all + "]):\n  alloc S: int32[" + all +
                     "] local\n";
  const auto lanes = [&](int i) { return "[" + number(8 * i) + " : 8]"; };
  for (int i = 0; i < vectors; ++i) text += "  S" + lanes(i) + " = broadcast(int32(0), 8)\n";
  text += "  for k in 0..16:\n";
  for (int term = 0; term < kTerms; ++term)
    for (int i = 0; i < vectors; ++i)
      text += "    S" + lanes(i) + " = S" + lanes(i) + " + broadcast(int32(A[k * 4 + " +
              number(i * kSteps * kTerms + term) + "]), 8) * int32(B[k * 32 + " + number(8 * term) + " : 8])\n";
  for (int i = 0; i < vectors; ++i) text += "  C" + lanes(i) + " = S" + lanes(i) + "\n";
  return text;
}

std::string source(int vectors, const std::string& target, const char* kind) {
  return build(parse(sums(vectors)), parse_target(target))->source(kind);
}

int kept(int vectors, const std::string& target) {
  const std::string text = source(vectors, target, "llvm");
  int count = 0;
  for (size_t at = 0; (at = text.find("asm \"\"", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(CodegenSumsInOrder, OfSumsThatFillTheRegisters) {
  EXPECT_EQ(kept(10, "llvm -mcpu=haswell"), 10 * (kTerms - 1));
  EXPECT_EQ(kept(10, "llvm -mcpu=skylake-avx512"), 0) << "it has 32 registers";
  EXPECT_EQ(kept(2, "llvm -mcpu=haswell"), 0) << "a shorter chain is sooner at its end";
  EXPECT_EQ(kept(10, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"), 0);
}

TEST(CodegenSumsInOrder, NoneGoesToTheStack) {
  const std::string text = source(10, "llvm -mcpu=haswell", "asm");
  EXPECT_EQ(text.find("Spill"), std::string::npos) << text;
}

TEST(CodegenSumsInOrder, AreExact) {
  constexpr int kVectors = 10;
  std::vector<int8_t> a(kVectors * kSteps * kTerms), b(kSteps * kTerms * 8);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 37 - 128);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 91 - 128);
  std::vector<int32_t> expected(kVectors * 8);
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < kSteps * kTerms; ++k)
      expected[i] += int32_t{a[i / 8 * kSteps * kTerms + k]} * int32_t{b[k * 8 + i % 8]};
  const ir::Program program = parse(sums(kVectors));
  for (const char* name : {"llvm -mcpu=native", "llvm -mcpu=x86-64-v3", "llvm -mcpu=nehalem"}) {
    const Target target = parse_target(name);
    if (!target.missing_here().empty()) continue;
    const auto run = run_compiled(program, {bytes_of(a), bytes_of(b), Bytes(expected.size() * 4)}, target, 3);
    EXPECT_EQ(values_of<int32_t>(run[2]), expected) << name;
  }
}

#endif

}  // namespace
}  // namespace tw
