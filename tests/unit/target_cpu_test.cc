// What a CPU has, from recorded answers of CPUID and HWCAP, without a compiler in the process.
#include <gtest/gtest.h>

#include "src/target/catalog.h"
#include "src/target/cpu.h"
#include "src/target/x86.h"
#include "tests/unit/cpuid_records.h"

namespace tw::target {
namespace {

using namespace testing;

std::vector<std::string> listed(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

std::string native_on(const Cpu& cpu, const std::string& options = "") {
  return parse_on(cpu, "c -mcpu=native" + options).value_or_throw().to_string();
}

TEST(TargetCpu, NativeOfRecordedCpus) {
  for (const Machine& machine : machines())
    EXPECT_EQ(native_on(cpu_of(machine.cpuid)), "c " + machine.native) << machine.name;
}

TEST(TargetCpu, NativeComesBackFromItsTextAndRunsThere) {
  for (const Machine& machine : machines()) {
    const Cpu cpu = cpu_of(machine.cpuid);
    const Target target = parse_on(cpu, "c -mcpu=native").value_or_throw();
    EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target) << machine.name;
    EXPECT_EQ(target.features, cpu.asked) << machine.name;
    EXPECT_TRUE(missing_on(cpu, target.features).empty()) << machine.name;
  }
}

TEST(TargetCpu, RegistersAreThoseThatTheSystemSaves) {
  const auto bits = [](const CpuidRecord& r) {
    return parse_on(cpu_of(r), "c -mcpu=native").value_or_throw().abilities.vector_bits;
  };
  EXPECT_EQ(bits(nehalem()), 128);
  EXPECT_EQ(bits(zen3()), 256);
  EXPECT_EQ(bits(granite_rapids()), 512);
  EXPECT_EQ(bits(with_xcr0(granite_rapids(), kAvx)), 256);
  EXPECT_EQ(bits(with_xcr0(granite_rapids(), kSse)), 128);
}

TEST(TargetCpu, AModelNumberIsToldFromTheName) {
  const Cpu contradicting = cpu_of(with_signature(granite_rapids(), 0x000a0671));
  EXPECT_EQ(contradicting.model, "rocketlake");
  EXPECT_EQ(contradicting.name, "x86-64-v4");
  EXPECT_EQ(cpu_of(zen4()).model, "znver4");
  EXPECT_EQ(cpu_of(qemu64()).model, "");
}

// What hypervisors show or hide and no code contains: RTM, HLE, PKU, CLDEMOTE, TSXLDTRK, SERIALIZE, shadow stacks.
TEST(TargetCpu, TheSystemsInstructionsAreNoPartOfATarget) {
  CpuidRecord hidden = sapphire_rapids();
  hidden.leaves[2].ebx &= ~(1u << 11 | 1u << 4);
  hidden.leaves[2].ecx &= ~(1u << 3 | 1u << 4 | 1u << 7 | 1u << 25);
  hidden.leaves[2].edx &= ~(1u << 14 | 1u << 16);
  EXPECT_EQ(native_on(cpu_of(hidden)), native_on(cpu_of(sapphire_rapids())));
  EXPECT_EQ(Target::parse("c -mcpu=znver4 -mattr=+cldemote,+rtm,-pku,-clzero,+avxvnni").value_or_throw().to_string(),
            "c -mcpu=znver4 -mattr=+avxvnni");
}

// To a compiler +avx512bw means AVX-512 as a whole.
TEST(TargetCpu, AFeatureWithoutItsFoundationDoesNotCount) {
  CpuidRecord r = skylake_x();
  r.leaves[2].ebx &= ~(1u << 16);
  EXPECT_EQ(native_on(cpu_of(r)), "c -mcpu=skylake-avx512 -mattr=-avx512bw,-avx512cd,-avx512dq,-avx512f,-avx512vl");
}

TEST(TargetCpu, Avx10NamesTheFeaturesOfAvx512) {
  CpuidRecord r = granite_rapids();  // as a hypervisor shows it that has only heard of AVX10
  r.leaves[2].ebx &= ~0xd0230000u;
  r.leaves[2].ecx &= ~0x5842u;
  r.leaves[2].edx &= ~(1u << 23);
  r.leaves[3].eax &= ~(1u << 5);
  EXPECT_EQ(native_on(cpu_of(r)), "c -mcpu=graniterapids");
  r.leaves[4].ebx = 0x00030001;  // at most 256 bits
  EXPECT_FALSE(cpu_of(r).has("avx512f"));
  EXPECT_EQ(Target::parse("c -mcpu=x86-64-v4 -mattr=+avx10.1-512").value_or_throw().to_string(),
            "c -mcpu=x86-64-v4 -mattr=+avx512bf16,+avx512bitalg,+avx512fp16,+avx512ifma,+avx512vbmi,+avx512vbmi2,"
            "+avx512vnni,+avx512vpopcntdq");
}

TEST(TargetCpu, LeavesThatTheCpuDoesNotHaveSayNothing) {
  CpuidRecord r = sapphire_rapids();
  r.leaves[2].eax = 0;  // no subleaf 1
  EXPECT_FALSE(cpu_of(r).has("avxvnni"));
  r.leaves[0].eax = 6;  // no leaf 7
  EXPECT_FALSE(cpu_of(r).has("avx2"));
  EXPECT_EQ(cpu_of(CpuidRecord{}).name, "x86-64");
}

TEST(TargetCpu, ExtendedRegistersAreOnlyForWhoAsks) {
  CpuidRecord r = granite_rapids();
  r.leaves[3].edx |= 1u << 21;
  EXPECT_FALSE(cpu_of(r).has("egpr"));
  r.xcr0 |= 0x80000;
  EXPECT_TRUE(cpu_of(r).has("egpr"));
  EXPECT_EQ(native_on(cpu_of(r)), "c -mcpu=graniterapids");
}

TEST(TargetCpu, OptionsComeAfterWhatTheMachineHas) {
  EXPECT_EQ(native_on(cpu_of(zen2()), " -mattr=-fma"), "c -mcpu=znver2 -mattr=-fma");
  EXPECT_EQ(native_on(cpu_of(haswell()), " -mattr=-avx2"), "c -mcpu=haswell -mattr=-avx2");
  EXPECT_EQ(native_on(cpu_of(zen4()), " -mattr=-avx512bw"),
            "c -mcpu=znver4 -mattr=-avx512bf16,-avx512bitalg,-avx512bw,-avx512vbmi,-avx512vbmi2");
}

TEST(TargetCpu, WhatIsMissingIsNamed) {
  const std::vector<std::string> v3 = listed(x86::features_of("x86-64-v3"));
  EXPECT_EQ(missing_on(cpu_of(nehalem()), v3),
            (std::vector<std::string>{"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}));
  EXPECT_TRUE(missing_on(cpu_of(haswell()), v3).empty());
  EXPECT_EQ(missing_on(cpu_of(without_tiles(sapphire_rapids())), {"amx-tile", "avx512f", "rtm", "sgx"}),
            (std::vector<std::string>{"amx-tile"}));
  // What a later compiler calls by a name that nobody here knows.
  EXPECT_EQ(missing_on(cpu_of(zen5()), {"avx2", "avx10.2"}), (std::vector<std::string>{"avx10.2"}));
}

TEST(TargetCpu, ArmIsReadFromHwcaps) {
  const uint64_t armv8 = 0x3 | 1 << 8 | 1 << 12, halves = 1 << 9 | 1 << 10, dot = 1 << 20, sve = 1 << 22;
  const Cpu pi = cpu_of(HwcapRecord{0x3, 0, 0x410fd083});
  EXPECT_EQ(pi.name, "cortex-a72");
  EXPECT_EQ(pi.features, (std::vector<std::string>{"fp-armv8", "neon"}));
  const Cpu n1 = cpu_of(HwcapRecord{armv8 | halves | dot, 0, 0x413fd0c1});
  EXPECT_EQ(n1.name, "neoverse-n1");
  EXPECT_TRUE(n1.has("dotprod") && n1.has("fullfp16") && !n1.has("sve"));
  const Cpu graviton3 = cpu_of(HwcapRecord{armv8 | halves | dot | sve | 1 << 23, 1 << 13 | 1 << 14, 0x411fd401});
  EXPECT_EQ(graviton3.name, "neoverse-v1");
  EXPECT_TRUE(graviton3.has("sve") && graviton3.has("i8mm") && graviton3.has("bf16") && !graviton3.has("sve2"));
  const Cpu emulated = cpu_of(HwcapRecord{armv8 | halves | dot | sve, 0, 0x410fd083});
  EXPECT_EQ(emulated.name, "generic");  // no Cortex-A72 has SVE
  EXPECT_TRUE(emulated.has("sve"));
  EXPECT_EQ(missing_on(n1, {"neon", "sve", "v8.2a", "pan"}), (std::vector<std::string>{"sve"}));
}

TEST(TargetCpu, SveIsOfTheLengthThatTheSystemGives) {
  const uint64_t sve = 0x3 | 1 << 9 | 1 << 10 | 1 << 22;
  const Cpu short_one = cpu_of(HwcapRecord{sve, 0, 0x410fd083, 128}), none = cpu_of(HwcapRecord{0x3, 0, 0, 256});
  EXPECT_EQ(short_one.sve_bits, 128);
  EXPECT_EQ(none.sve_bits, 0) << "without the feature the answer means nothing";
  EXPECT_TRUE(missing_on(short_one, {"neon", "sve"}, 128).empty());
  EXPECT_TRUE(missing_on(short_one, {"neon", "sve"}, 0).empty()) << "code for any length";
  EXPECT_EQ(missing_on(short_one, {"neon", "sve"}, 256),
            (std::vector<std::string>{"SVE vectors of 256 bits (they have 128)"}));
  EXPECT_EQ(missing_on(none, {"neon", "sve"}, 256), (std::vector<std::string>{"sve", "SVE vectors of 256 bits"}));
  const auto native = [&](const Cpu& cpu) { return parse_on(cpu, "interp -mcpu=native").value_or_throw(); };
  EXPECT_EQ(native(short_one).sve_bits, 128);
  EXPECT_TRUE(native(short_one).to_string().ends_with(" -msve-vector-bits=128")) << native(short_one).to_string();
  EXPECT_EQ(native(none).sve_bits, 0);
}

TEST(TargetCpu, NativeIsOfThisMachine) {
  const Result<Target> other = Target::parse("c -mcpu=native -mtriple=riscv64-linux-gnu");
  ASSERT_FALSE(other.ok());
  const Result<Target> arm = parse_on(cpu_of(zen4()), "c -mcpu=native -mtriple=aarch64-unknown-linux-gnu");
  ASSERT_FALSE(arm.ok());
  EXPECT_NE(arm.error().render().find("which is not aarch64"), std::string::npos);
}

}  // namespace
}  // namespace tw::target
