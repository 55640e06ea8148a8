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

// Without -mtriple= a mistaken name may be a CPU's of any architecture; with it the error says whose it is.
TEST(CodegenTarget, NamesTheNearestOfOtherArchitectures) {
  constexpr std::pair<const char*, const char*> kErrors[] = {
      {"-mcpu=neoverse_n1", "did you mean neoverse-n1"},
      {"-mcpu=Cortex-A72", "did you mean cortex-a72"},
      {"-mcpu=cortexa72", "did you mean cortex-a72"},
      {"-mcpu=SkyLake", "did you mean skylake"},
      {"-mcpu=neoverse-n1 -mtriple=x86_64-linux-gnu", "it is a CPU of -mtriple=aarch64-unknown-linux-gnu"},
      {"-mcpu=skylake -mtriple=aarch64-linux-gnu", "it is a CPU of -mtriple=x86_64-pc-linux-gnu"}};
  for (const auto& [options, said] : kErrors) {
    const std::string error = error_of(std::string("llvm ") + options);
    EXPECT_NE(error.find(said), std::string::npos) << error;
  }
  EXPECT_EQ(error_of("llvm -mcpu=neoverse-n11 -mtriple=x86_64-linux-gnu").find("neoverse-n1 "), std::string::npos);
}

TEST(CodegenTarget, CpusOf32BitsAreNoneOfX86_64) {
  for (const char* cpu : {"i386", "pentium4", "lakemont", "core-duo"}) {
    const std::string error = error_of(std::string("llvm -mcpu=") + cpu);
    EXPECT_NE(error.find("unknown CPU \"" + std::string(cpu) + "\" of x86_64"), std::string::npos) << error;
  }
  for (const char* cpu : {"generic", "nocona", "k8", "core2"})
    EXPECT_TRUE(Target::parse(std::string("llvm -mcpu=") + cpu).ok()) << cpu;
}

// What LLVM would stop at, or make objects of that nobody here links.
TEST(CodegenTarget, SystemsWhoseObjectsAreOthersAreRefused) {
  for (const char* triple : {"aarch64-linux-gnu_ilp32", "x86_64-linux-gnux32", "x86_64-pc-windows-msvc",
                             "x86_64-w64-mingw32", "x86_64-apple-macosx", "aarch64-apple-ios", "aarch64-linux-gun",
                             "aarch64-pc-linxu-gnu", "aarch64_be-linux-gnu"})
    EXPECT_NE(error_of(std::string("llvm -mtriple=") + triple).find("unknown triple"), std::string::npos) << triple;
  EXPECT_NE(error_of("llvm -mtriple=x86_64-linux-gnux32").find("objects are ELF files of 64 bits"), std::string::npos);
  for (const char* triple : {"aarch64", "x86_64", "aarch64-none-elf", "x86_64-unknown-freebsd", "x86_64-linux-musl",
                             "arm64-linux-android29", "aarch64-unknown-none-elf"}) {
    const Result<Target> target = Target::parse(std::string("llvm -mtriple=") + triple);
    ASSERT_TRUE(target.ok()) << target.error().render();
    EXPECT_EQ(Target::parse(target->to_string()).value_or_throw(), *target) << triple;
  }
}

TEST(CodegenTarget, WhatCodeIsNeverWithoutIsNotSwitchedOff) {
  EXPECT_NE(error_of("llvm -mattr=-sse").find("needs sse2, which -mattr= takes away"), std::string::npos);
  EXPECT_NE(error_of("llvm -mcpu=znver3 -mattr=-sse2").find("needs sse2"), std::string::npos);
  const std::string arm = "llvm -mtriple=aarch64-linux-gnu ";
  EXPECT_NE(error_of(arm + "-mattr=-fp-armv8").find("needs fp-armv8, which -mattr= takes away"), std::string::npos);
  EXPECT_NE(error_of(arm + "-mcpu=neoverse-v1 -mattr=-neon").find("\"sve\" needs neon"), std::string::npos);
  EXPECT_TRUE(Target::parse(arm + "-mcpu=neoverse-v1 -mattr=-neon,-sve").ok());
}

TEST(CodegenTarget, ListsOfAttributesAddUp) {
  EXPECT_EQ(Target::parse("llvm -mattr=+avx2 -mattr=+fma").value_or_throw(),
            Target::parse("llvm -mattr=+avx2,+fma").value_or_throw());
  EXPECT_NE(error_of("llvm -mattr=+").find("an attribute needs a name"), std::string::npos);
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
