// Stores past the caches: what they are on each CPU, and that arrays and rows may begin anywhere.
#include <algorithm>
#include <numeric>

#include "tests/unit/run_program.h"

namespace tw {
namespace {

#if TW_LLVM

// Rows of 5 vectors and 3 elements: but for the first, they begin where no register would.
std::string rows(const std::string& output, const std::string& kind = "") {
  return "kernel k(A: float32[6, 83], C: " + output + " float32[6, 83]):\n  for i in 0..6" + kind +
         ":\n    for j in 0..5:\n      C@[i * 83 + j * 16 : 16] = A@[i * 83 + j * 16 : 16] * 2.0\n"
         "    for j in 0..3:\n      C@[i * 83 + j + 80] = A@[i * 83 + j + 80] * 2.0\n";
}

std::string assembly(const std::string& text, const std::string& target) {
  return build(parse(text), parse_target(target))->source("asm");
}

int64_t count(const std::string& text, const std::string& word) {
  int64_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(CodegenNontemporal, WholeRegistersOfX86AndAFence) {
  for (const auto& [cpu, registers] :
       {std::pair("x86-64", "%xmm"), std::pair("haswell", "%ymm"), std::pair("znver4", "%zmm")}) {
    const std::string target = std::string("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=") + cpu;
    for (const char* kind : {"", " parallel"}) {
      const std::string text = assembly(rows("out nontemporal", kind), target);
      const auto stores = [&](const std::string& name) { return count(text, name + "\t" + registers); };
      EXPECT_GE(stores("movntps") + stores("movntdq"), 1) << cpu << "\n" << text;
      EXPECT_EQ(count(text, "sfence"), 1) << cpu << "\n" << text;
    }
    const std::string plain = assembly(rows("out"), target);
    EXPECT_EQ(count(plain, "movnt") + count(plain, "sfence"), 0) << cpu << "\n" << plain;
  }
}

TEST(CodegenNontemporal, PairsOfAArch64AndNoFence) {
  const std::string target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1";
  EXPECT_GE(count(assembly(rows("out nontemporal"), target), "\tstnp\t"), 1);
  EXPECT_EQ(count(assembly(rows("out"), target), "\tstnp\t"), 0);
}

TEST(CodegenNontemporal, ArraysBeginAnywhere) {
  constexpr size_t kElements = 6 * 83, kPlaces = 32;
  std::vector<float> a(kElements), wanted(kElements);
  std::iota(a.begin(), a.end(), 1.0F);
  std::transform(a.begin(), a.end(), wanted.begin(), [](float x) { return 2 * x; });
  for (const char* kind : {"", " parallel"})
    for (int opt_level : {0, 3}) {
      const auto module = build(parse(rows("out nontemporal", kind)), native(), opt_level);
      for (size_t place = 0; place < kPlaces; ++place) {
        std::vector<float> memory(kElements + 2 * kPlaces, -1);
        void* data[] = {a.data(), memory.data() + place};
        ASSERT_EQ(module->kernel()->run(data), 0);
        const auto begin = memory.begin() + static_cast<ptrdiff_t>(place);
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), begin)) << place << kind << " at O" << opt_level;
        EXPECT_EQ(std::count(memory.begin(), memory.end(), -1.0F), static_cast<ptrdiff_t>(2 * kPlaces));
      }
    }
}

// Elements of any size, vectors narrower and wider than a register, and those that are none of its parts.
TEST(CodegenNontemporal, AllTypesAndLengths) {
  for (const char* type : {"int8", "uint8", "bool", "float16", "bfloat16", "int32", "float64"})
    for (const int lanes : {2, 4, 8, 12, 16, 32, 64}) {
      const std::string n = std::to_string(lanes), all = std::to_string(3 * lanes);
      const ir::Program p =
          parse("kernel k(A: " + std::string(type) + "[" + all + "], C: out nontemporal " + type + "[" + all +
                "]):\n  for i in 0..3:\n    C[i * " + n + " : " + n + "] = A[i * " + n + " : " + n + "]\n");
      Bytes in(static_cast<size_t>(3 * lanes * p.params[0].buffer.element().bytes()));
      for (size_t i = 0; i < in.size(); ++i) in[i] = i % 3 == 0;
      expect_all_agree(p, {in, Bytes(in.size(), 7)});
    }
}

#else
TEST(CodegenNontemporal, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
