// Vectors of int32 that hold int16, multiplied: as pairs of words of which one is 0, and the same bit for bit.
#include <cstdint>

#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

// C[i, j] = a[i] * B[j], of these types.
std::string products(const std::string& a, const std::string& b, int columns = 32) {
  const std::string n = std::to_string(columns);
  return "kernel k(A: " + a + "[256], B: " + b + "[" + n + "], C: out int32[" + std::to_string(256 * columns) +
         "]):\n"
         "  for i in 0..256:\n"
         "    C[i * " +
         n + " : " + n + "] = broadcast(int32(A[i]), " + n + ") * int32(B[0 : " + n + "])\n";
}

std::string llvm_text(const std::string& program, const std::string& target) {
  return build(parse(program), parse_target(target))->source("llvm");
}

TEST(CodegenWordProducts, OfASharedFactor) {
  const std::string text = products("int8", "int8");
  EXPECT_TRUE(has(llvm_text(text, "llvm -mcpu=skylake-avx512"), "@llvm.x86.avx512.pmaddw.d.512(<32 x i16>"));
  EXPECT_TRUE(has(llvm_text(text, "llvm -mcpu=haswell"), "@llvm.x86.avx2.pmadd.wd(<16 x i16>"));
  EXPECT_TRUE(has(llvm_text(text, "llvm -mcpu=nehalem"), "@llvm.x86.sse2.pmadd.wd(<8 x i16>"));
  EXPECT_FALSE(has(llvm_text(text, "llvm -mcpu=haswell"), "mul <"));
  EXPECT_FALSE(has(llvm_text(text, "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"), "pmadd"));
}

TEST(CodegenWordProducts, OnlyOfWords) {
  for (const char* wide : {"uint16", "int32"})
    EXPECT_FALSE(has(llvm_text(products(wide, "int8"), "llvm -mcpu=haswell"), "pmadd")) << wide;
  EXPECT_FALSE(has(llvm_text(products("int8", "uint16"), "llvm -mcpu=haswell"), "pmadd"));
}

TEST(CodegenWordProducts, OfTwoVectorsWhereOneIsNeverNegative) {
  const auto text = [](const std::string& left) {
    return llvm_text("kernel k(A: " + left +
                         "[8], B: int8[8], C: out int32[8]):\n"
                         "  C[0 : 8] = int32(A[0 : 8]) * int32(B[0 : 8])\n",
                     "llvm -mcpu=haswell");
  };
  EXPECT_TRUE(has(text("uint8"), "pmadd"));
  EXPECT_FALSE(has(text("int8"), "pmadd")) << "the mask costs what the product saves";
}

template <class A, class B>
void expect_same_products(const std::string& a_type, const std::string& b_type, const std::vector<A>& a,
                          const std::vector<B>& b) {
  const ir::Program program = parse(products(a_type, b_type, static_cast<int>(b.size())));
  for (const Target& target : {native(), parse_target("llvm -mcpu=nehalem")}) {
    if (!target.missing_here().empty()) continue;
    const std::vector<int32_t> got = values_of<int32_t>(
        run_compiled(program, {bytes_of(a), bytes_of(b), Bytes(a.size() * b.size() * 4)}, target, 3)[2]);
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < b.size(); ++j)
        ASSERT_EQ(got[i * b.size() + j], int32_t{a[i]} * int32_t{b[j]}) << int{a[i]} << " * " << int{b[j]};
  }
}

TEST(CodegenWordProducts, AreExact) {
  std::vector<int8_t> bytes(256);
  std::vector<int16_t> words(256), few(64);
  for (int i = 0; i < 256; ++i) bytes[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  for (int i = 0; i < 256; ++i) words[static_cast<size_t>(i)] = static_cast<int16_t>(i * 257 - 32768);
  for (int i = 0; i < 64; ++i) few[static_cast<size_t>(i)] = static_cast<int16_t>(i * 1040 - 32768);
  expect_same_products("int8", "int8", bytes, bytes);
  expect_same_products("int16", "int16", words, few);
  expect_same_products("int16", "int8", words, bytes);
}

#endif

}  // namespace
}  // namespace tw
