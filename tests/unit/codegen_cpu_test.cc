// What a CPU has, with LLVM's knowledge of CPUs beside our own: both say the same, whichever LLVM it is.
#include <gtest/gtest.h>

#include <regex>

#include "src/target/catalog.h"
#include "src/target/cpu.h"
#include "src/target/x86.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/cpuid_records.h"

namespace tw::target {
namespace {

#if TW_LLVM

using namespace testing;

constexpr const char* kX86 = "x86_64-pc-linux-gnu";

TEST(CodegenCpu, NativeOfRecordedCpus) {
  for (const Machine& machine : machines()) {
    const Cpu cpu = cpu_of(machine.cpuid);
    const Target target = parse_on(cpu, "llvm -mcpu=native").value_or_throw();
    EXPECT_EQ(target.to_string(), "llvm " + machine.native) << machine.name;
    EXPECT_EQ(target.features, cpu.asked) << machine.name;
    EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target) << machine.name;
  }
}

TEST(CodegenCpu, LlvmIsTheOneThatIsAsked) { EXPECT_NE(&catalog(), &table_catalog()); }

TEST(CodegenCpu, OurCpusHaveWhatTheirNamesImplyInLlvm) {
  for (const std::string& cpu : x86::cpus())
    EXPECT_EQ(catalog().resolve(kX86, cpu, {}), table_catalog().resolve(kX86, cpu, {})) << cpu;
}

TEST(CodegenCpu, AnAttributeBringsAndTakesTheSameAsInLlvm) {
  for (const x86::Feature& feature : x86::features())
    for (const char* cpu : {"x86-64", "x86-64-v3", "sapphirerapids", "znver5", "bdver4"})
      for (const char* sign : {"+", "-"}) {
        const std::string attribute = sign + std::string(feature.name);
        if (attribute == "-sse" || attribute == "-sse2") continue;  // without which there is no x86-64
        EXPECT_EQ(catalog().resolve(kX86, cpu, {attribute}), table_catalog().resolve(kX86, cpu, {attribute}))
            << cpu << " " << attribute;
      }
}

TEST(CodegenCpu, WhatCodeHasNoneOfIsAcceptedAndLeftOut) {
  const std::vector<std::string> known = catalog().features(kX86);
  for (const std::string& name : x86::not_in_code()) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
    const Result<Target> target = Target::parse("llvm -mcpu=sapphirerapids -mattr=-" + name);
    ASSERT_TRUE(target.ok()) << name;
    EXPECT_EQ(target->to_string(), "llvm -mcpu=sapphirerapids") << name;
  }
  EXPECT_FALSE(Target::parse("llvm -mattr=+retpoline").ok());
}

std::string assembly_for(const std::string& target) {
  const auto d = autotune::testing::declare_dense(9, 17, 33);
  const Target on = Target::parse(target).value_or_throw();
  return build(default_schedule({d.D}, on), {d.A, d.B, d.bias, d.D}, on)->source("asm");
}

TEST(CodegenCpu, CodeUsesTheVectorsOfTheTargetAndNoOthers) {
  const std::regex of_avx(R"(\tv[a-z])");
  for (const char* target : {"llvm -mcpu=nehalem", "llvm -mcpu=haswell -mattr=-avx,-avx2,-f16c,-fma", "llvm"})
    EXPECT_FALSE(std::regex_search(assembly_for(target), of_avx)) << target;
  for (const char* target : {"llvm -mcpu=haswell", "llvm -mcpu=znver4 -mattr=-avx512f"}) {
    const std::string assembly = assembly_for(target);
    EXPECT_NE(assembly.find("%ymm"), std::string::npos) << target;
    EXPECT_EQ(assembly.find("%zmm"), std::string::npos) << target;
  }
  for (const char* target : {"llvm -mcpu=znver4", "llvm -mcpu=haswell -mattr=+avx512f"})
    EXPECT_NE(assembly_for(target).find("%zmm"), std::string::npos) << target;
}

TEST(CodegenCpu, ArmNamesImplyWhatTheCoresSay) {
  const uint64_t n1 = 0x3 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 20;
  const auto native = [](uint64_t hwcap, uint64_t hwcap2, uint32_t midr) {
    return parse_on(cpu_of(HwcapRecord{hwcap, hwcap2, midr}), "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=native")
        .value_or_throw()
        .to_string();
  };
  EXPECT_EQ(native(n1, 0, 0x413fd0c1), "llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu");
  EXPECT_EQ(native(0x3, 0, 0x410fd083), "llvm -mcpu=cortex-a72 -mtriple=aarch64-unknown-linux-gnu");
  EXPECT_EQ(native(0x3 | 1 << 20, 0, 0x410fd083),
            "llvm -mcpu=generic -mtriple=aarch64-unknown-linux-gnu -mattr=+dotprod");
}

#else
TEST(CodegenCpu, NeedsLlvm) { GTEST_SKIP() << "skipped: this build has no LLVM"; }
#endif

}  // namespace
}  // namespace tw::target
