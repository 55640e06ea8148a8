// Target strings with LLVM's knowledge of CPUs.
#include <gtest/gtest.h>

#include "tensorwright/target.h"

namespace tw {
namespace {

#if TW_LLVM

std::string error_of(std::string_view text) {
  const Result<Target> target = Target::parse(text);
  EXPECT_FALSE(target.ok()) << text;
  return target.ok() ? "" : target.error().render();
}

TEST(CodegenTarget, KnowsCpusByName) {
  const Target zen5 = Target::parse("llvm -mcpu=znver5").value_or_throw();
  EXPECT_EQ(zen5.abilities.vector_bits, 512);
  EXPECT_TRUE(zen5.has("avx512f") && zen5.has("fma") && zen5.has("f16c"));
  EXPECT_EQ(zen5.to_string(), "llvm -mcpu=znver5");
  EXPECT_EQ(Target::parse("llvm -mcpu=haswell").value_or_throw().abilities.vector_bits, 256);
  EXPECT_EQ(Target::parse("llvm -mcpu=nehalem").value_or_throw().abilities.vector_bits, 128);
}

TEST(CodegenTarget, SwitchingAFeatureOffTakesItsDependentsAlong) {
  const Target target = Target::parse("llvm -mcpu=znver4 -mattr=-avx512f").value_or_throw();
  EXPECT_EQ(target.abilities.vector_bits, 256);
  EXPECT_FALSE(target.has("avx512bw"));
  EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target);
}

TEST(CodegenTarget, NativeResolvesAndComesBackFromItsText) {
  const Target host = Target::host();
  EXPECT_NE(host.cpu, "native");
  EXPECT_TRUE(host.missing_here().empty());
  EXPECT_EQ(Target::parse(host.to_string()).value_or_throw(), host);
}

TEST(CodegenTarget, NamesTheNearest) {
  EXPECT_NE(error_of("llvm -mcpu=znver9").find("did you mean znver"), std::string::npos);
  EXPECT_NE(error_of("llvm -mcpu=znver4 -mattr=+avx512").find("did you mean avx"), std::string::npos);
  EXPECT_NE(error_of("llvm -mtriple=riscv64-linux-gnu").find("unknown triple"), std::string::npos);
  EXPECT_NE(error_of("llvm -mtriple=arm-linux-gnueabihf").find("made by way of C: target c"), std::string::npos);
}

TEST(CodegenTarget, OtherArchitecturesResolve) {
  const Target arm = Target::parse("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1").value_or_throw();
  EXPECT_EQ(arm.abilities.vector_registers, 32);
  EXPECT_FALSE(arm.missing_here().empty());
}

TEST(CodegenTarget, CpusWithSveHaveItsLength) {
  const auto parsed = [](const std::string& options) {
    return Target::parse("llvm -mtriple=aarch64-linux-gnu " + options).value_or_throw();
  };
  const std::string triple = " -mtriple=aarch64-unknown-linux-gnu";
  for (const auto& [cpu, bits] : {std::pair{"neoverse-v1", 256},
                                  {"a64fx", 512},
                                  {"neoverse-v2", 128},
                                  {"neoverse-n2", 128},
                                  {"neoverse-n1", 0},
                                  {"cortex-a72", 0}}) {
    const Target target = parsed(std::string("-mcpu=") + cpu);
    EXPECT_EQ(target.sve_bits, bits) << cpu;
    EXPECT_EQ(target.abilities.vector_bits, std::max(bits, 128)) << cpu;
    EXPECT_EQ(target.abilities.lane_products, bits <= 128 ? 32 : 8) << cpu;
    EXPECT_EQ(target.to_string(), "llvm -mcpu=" + std::string(cpu) + triple);
  }
  EXPECT_EQ(parsed("-mcpu=neoverse-v1 -mattr=-sve").sve_bits, 0);
  const Target half = parsed("-mcpu=neoverse-v1 -msve-vector-bits=128");
  EXPECT_EQ(half.to_string(), "llvm -mcpu=neoverse-v1" + triple + " -msve-vector-bits=128");
  EXPECT_EQ(Target::parse(half.to_string()).value_or_throw(), half);
  EXPECT_NE(error_of("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -msve-vector-bits=256")
                .find("needs a CPU with SVE, which cortex-a72 of"),
            std::string::npos);
}

#else
TEST(CodegenTarget, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw
