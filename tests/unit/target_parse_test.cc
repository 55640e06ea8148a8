// Target strings without a code generator in the process: the levels of x86-64 and this machine.
#include <gtest/gtest.h>

#include "src/support/nearest.h"
#include "src/target/aarch64.h"
#include "src/target/cpu.h"
#include "src/target/cuda.h"
#include "src/target/triple.h"
#include "tensorwright/target.h"

namespace tw {
namespace {

std::string error_of(std::string_view text) {
  const Result<Target> target = Target::parse(text);
  EXPECT_FALSE(target.ok()) << text;
  if (target.ok()) return "";
  EXPECT_EQ(target.error().kind, ErrorKind::kTarget);
  return target.error().render();
}

void contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in\n" << text;
}

// The interpreter runs a program that was lowered for any CPU on any machine.
TEST(TargetParse, InterpTakesTheOptionsOfTheOthers) {
  const Target plain = Target::parse("interp").value_or_throw();
  EXPECT_EQ(plain.to_string(), "interp");
  EXPECT_FALSE(plain.has("fma"));
  const Target v3 = Target::parse("interp -mcpu=x86-64-v3").value_or_throw();
  EXPECT_EQ(v3.to_string(), "interp -mcpu=x86-64-v3");
  EXPECT_EQ(Target::parse(v3.to_string()).value_or_throw(), v3);
  EXPECT_TRUE(v3.has("fma"));
  EXPECT_TRUE(Target::parse("interp -mcpu=x86-64-v4").value_or_throw().missing_here().empty());
}

TEST(TargetParse, SpellingsOfATripleAreOneTarget) {
  constexpr const char* kArm = "c -mcpu=generic -mtriple=aarch64-unknown-linux-gnu";
  for (const char* triple : {"aarch64-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-linux-gnu", "aarch64-linux",
                             "aarch64-conda-linux-gnu", "aarch64-none-linux-gnu", "aarch64-pc-linux-gnu"}) {
    const Target target = Target::parse(std::string("c -mtriple=") + triple).value_or_throw();
    EXPECT_EQ(target.to_string(), kArm) << triple;
    EXPECT_EQ(target, Target::parse(kArm).value_or_throw()) << triple;
  }
  for (const char* triple : {"x86_64-linux-gnu", "x86_64-unknown-linux-gnu", "amd64-linux", "x86_64-pc-linux-gnu"})
    EXPECT_EQ(Target::parse(std::string("c -mcpu=x86-64-v3 -mtriple=") + triple).value_or_throw().to_string(),
              "c -mcpu=x86-64-v3");
  EXPECT_EQ(target::normalised_triple("aarch64-linux-musl"), "aarch64-unknown-linux-musl");
  EXPECT_EQ(target::normalised_triple("aarch64-linux-android21"), "aarch64-unknown-linux-android21");
  for (const char* other : {"aarch64-apple-darwin", "vax-dec-ultrix", "linux", "", "-", "a-b-c-linux-gnu", "aarch64"})
    EXPECT_EQ(target::normalised_triple(other), other);
}

TEST(TargetParse, CIsMadeForMoreArchitecturesThanLlvm) {
  EXPECT_EQ(Target::parse("c -mtriple=armv7l-linux-gnueabihf").value_or_throw().to_string(),
            "c -mcpu=generic -mtriple=arm-unknown-linux-gnueabihf");
  const Target riscv = Target::parse("c -mtriple=riscv64-linux-gnu").value_or_throw();
  EXPECT_EQ(riscv.to_string(), "c -mcpu=generic -mtriple=riscv64-unknown-linux-gnu");
  EXPECT_EQ(Target::parse(riscv.to_string()).value_or_throw(), riscv);
  EXPECT_FALSE(riscv.missing_here().empty());
  contains(error_of("c -mtriple=riscv64-linux-gnu -mcpu=sifive-u74"), "unknown CPU \"sifive-u74\"");
  contains(error_of("c -mtriple=arm-linux-gnueabihf -mcpu=cortex-a7"), "leave -mcpu= out");
  contains(error_of("c -mtriple=riscv64-linux-gnu -mattr=+v"), "unknown attribute \"v\"");
  contains(error_of("c -mtriple=arm-linux-gnueabi"), "unknown triple");
}

TEST(TargetParse, AttributesOfAnotherArchitectureAreSaidToBe) {
  contains(error_of("c -mcpu=x86-64-v3 -mattr=+neon"), "unknown attribute \"neon\" of x86_64-pc-linux-gnu");
  contains(error_of("c -mcpu=x86-64-v3 -mattr=+neon"), "CPUs of -mtriple=aarch64-unknown-linux-gnu have it");
  contains(error_of("c -mtriple=aarch64-linux-gnu -mattr=+neon,+avx2"), "CPUs of -mtriple=x86_64-pc-linux-gnu have it");
}

// A record's key means the same on any machine.
TEST(TargetParse, TextsSayTheArchitecture) {
  const target::Cpu arm = target::cpu_of(target::HwcapRecord{0x3, 0, 0x410fd083});
  const Target native = parse_on(arm, "c -mcpu=native").value_or_throw();
  EXPECT_NE(native.to_string().find(" -mtriple=aarch64-unknown-linux-gnu"), std::string::npos);
  EXPECT_EQ(Target::parse(native.to_string()).value_or_throw(), native);
  const Target v3 = Target::parse("c -mcpu=x86-64-v3").value_or_throw();
  EXPECT_EQ(parse_on(arm, v3.to_string()).value_or_throw(), v3);
  EXPECT_EQ(parse_on(arm, "c").value_or_throw().triple, "aarch64-unknown-linux-gnu");
}

TEST(TargetParse, OptionsOfTvmAreUnderstood) {
  const Target plain = Target::parse("c -mtriple=aarch64-linux-gnu").value_or_throw();
  EXPECT_EQ(Target::parse("c -keys=arm_cpu,cpu -device=arm_cpu -model=bcm2711 -mtriple=aarch64-linux-gnu -num-cores=4 "
                          "-mfloat-abi=hard -libs=cblas")
                .value_or_throw(),
            plain);
  EXPECT_EQ(
      Target::parse("c -keys=arm_cpu,cpu -device=arm_cpu -mattr=+neon -model=bcm2837 -mtriple=armv7l-linux-gnueabihf "
                    "-mfloat-abi=hard")
          .value_or_throw(),
      Target::parse("c -mtriple=armv7l-linux-gnueabihf").value_or_throw());
  contains(error_of("c -mfloat-abi=soft"), "-mfloat-abi must be hard");
  contains(error_of("c -num-cores=many"), "-num-cores must be a positive integer, not \"many\"");
  contains(error_of("c -num-cores=0"), "-num-cores must be a positive integer");
  contains(error_of("c -keys="), "-keys needs a value");
  contains(error_of("c -runtime=c"), "not \"-runtime=c\"");
  contains(error_of("c -libz=cblas"), "did you mean -libs?");
}

TEST(TargetParse, ProductsAreTheirCores) {
  EXPECT_EQ(target::aarch64::core_of("apple-m1"), "apple-a14");
  EXPECT_EQ(target::aarch64::core_of("grace"), "neoverse-v2");
  EXPECT_EQ(target::aarch64::core_of("cortex-a72"), "cortex-a72");
}

TEST(TargetParse, SveIsOfAFixedLength) {
  const std::string sve = "interp -mtriple=aarch64-linux-gnu -mattr=+sve";
  for (const char* bits : {"128", "256", "512", "1024", "2048"}) {
    const Target target = Target::parse(sve + " -msve-vector-bits=" + bits).value_or_throw();
    EXPECT_EQ(target.sve_bits, std::stoi(bits));
    EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target) << target.to_string();
    EXPECT_NE(target, Target::parse(sve).value_or_throw()) << "a record of another length";
  }
  EXPECT_EQ(Target::parse(sve + " -msve-vector-bits=scalable").value_or_throw(), Target::parse(sve).value_or_throw());
  EXPECT_EQ(Target::parse(sve).value_or_throw().sve_bits, 0);
  EXPECT_EQ(Target::parse("c -mtriple=aarch64-linux-gnu -mattr=+sve -msve-vector-bits=256").value_or_throw().sve_bits,
            0);
  for (const char* wrong : {"0", "64", "384", "4096", "99999999999", "wide", "-128"})
    contains(error_of(sve + " -msve-vector-bits=" + wrong),
             "-msve-vector-bits must be 128, 256, 512, 1024, 2048 or scalable, not \"" + std::string(wrong) + "\"");
  contains(error_of("interp -mtriple=aarch64-linux-gnu -msve-vector-bits=256"),
           "-msve-vector-bits=256 needs a CPU with SVE, which generic of aarch64-unknown-linux-gnu is not");
  contains(error_of("interp -mcpu=x86-64-v3 -msve-vector-bits=256"), "needs a CPU with SVE");
}

TEST(TargetParse, DevicesHaveAnArchitecture) {
  for (const std::string& arch : target::cuda::architectures()) {
    const Target target = Target::parse("cuda -arch=" + arch).value_or_throw();
    EXPECT_EQ(target.to_string(), "cuda -arch=" + arch);
    EXPECT_EQ(target.arch, arch);
    EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target);
  }
  EXPECT_EQ(Target::parse(" cuda  -keys=cuda,gpu -arch=sm_89 -model=l4 ").value_or_throw().to_string(),
            "cuda -arch=sm_89");
  EXPECT_EQ(Target::parse("cuda -keys=cuda,gpu -arch=sm_90 -max_num_threads=1024 -max_shared_memory_per_block=49152 "
                          "-max_threads_per_block=1024 -registers_per_block=65536 -thread_warp_size=32")
                .value_or_throw()
                .to_string(),
            "cuda -arch=sm_90")
      << "as TVM writes it";
  contains(error_of("cuda -max_num_threads=512"), "-max_num_threads must be 1024, as every such device has it, not");
  contains(error_of("cuda -max_shared_memory_per_block=48K"), "must be a positive integer, not \"48K\"");
  contains(error_of("cuda -arch=sm_42"), "-arch must be sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100a or");
  contains(error_of("cuda -mcpu=native"), "an option must be -arch=, not \"-mcpu=native\"");
  contains(error_of("cuda -arch=sm_80 -arch=sm_90a"),
           "-arch must be one architecture, and sm_80 stands there already, not \"sm_90a\"");
  EXPECT_EQ(Target::parse("nvidia/nvidia-h100").value_or_throw().to_string(), "cuda -arch=sm_90a") << "as TVM tags it";
  EXPECT_EQ(Target::parse("nvidia/geforce-rtx-4090 -keys=cuda").value_or_throw().to_string(), "cuda -arch=sm_89");
  contains(error_of("nvidia/nvidia-h1000"), "did you mean nvidia/nvidia-h100, ");
  contains(error_of("nvidia/nvidia-a100 -arch=sm_90a"), "sm_80 stands there already");
  contains(error_of("cuda -arch="), "for example: cuda -arch=sm_90a");
  contains(error_of("llvm -arch=sm_90a"), "an option must be -mcpu=");
  contains(error_of("cdua"), "did you mean cuda?");
  contains(error_of("CUDA"), "did you mean cuda?");
  contains(error_of("nvptx"), "cuda -arch=sm_90a");
}

// Which this process has only if someone says so.
TEST(TargetParse, WithoutAnArchitectureItIsThatOfTheDeviceHere) {
  EXPECT_EQ(Target::parse("cuda").value_or_throw().to_string(), "cuda -arch=sm_80");
  contains(error_of("cuda -arch=native"), "this machine's GPU, and none that works is here");
  EXPECT_EQ(target::why_not_here(Target::parse("cuda").value_or_throw()), "it has no CUDA device");
  target::cuda::register_device([] { return std::string("sm_90a"); });
  EXPECT_EQ(Target::parse("cuda").value_or_throw().to_string(), "cuda -arch=sm_90a");
  EXPECT_EQ(Target::parse("cuda -arch=native").value_or_throw().arch, "sm_90a");
  EXPECT_TRUE(Target::parse("cuda -arch=sm_90").value_or_throw().missing_here().empty());
  EXPECT_EQ(target::why_not_here(Target::parse("cuda -arch=sm_80").value_or_throw()), "its GPU is sm_90a");
  target::cuda::register_device(nullptr);
}

TEST(TargetParse, CapabilitiesOfDevices) {
  using namespace target::cuda;
  EXPECT_EQ(architecture_of(8, 0), "sm_80");
  EXPECT_EQ(architecture_of(8, 8), "sm_87");
  EXPECT_EQ(architecture_of(9, 0), "sm_90a");
  EXPECT_EQ(architecture_of(10, 3), "sm_100") << "what only 10.0 has is not of 10.3";
  EXPECT_EQ(architecture_of(7, 5), "");
  EXPECT_TRUE(runs("sm_89", "sm_80"));
  EXPECT_FALSE(runs("sm_80", "sm_89"));
  EXPECT_FALSE(runs("sm_90a", "sm_80")) << "code of one major capability is none of another";
  EXPECT_TRUE(runs("sm_90a", "sm_90a"));
  EXPECT_FALSE(runs("", "sm_80"));
}

TEST(TargetParse, UnknownKindsAndOptionsNameTheNearest) {
  contains(error_of("lvm -mcpu=native"), "did you mean llvm?");
  contains(error_of(""), "must be llvm, c, cuda or interp");
#if TW_LLVM
  contains(error_of("llvm -mpcu=native"), "did you mean -mcpu");
  contains(error_of("llvm native"), "an option must be");
  contains(error_of("llvm -mcpu="), "-mcpu needs a value");
  contains(error_of("llvm -mcpu=x86-64-v33"), "did you mean x86-64-v3");
  contains(error_of("llvm -mcpu=x86-64-v3 -mattr=avx2"), "must begin with + or -");
  contains(error_of("llvm -mcpu=x86-64-v3 -mattr=+avx7"), "did you mean avx");
  contains(error_of("llvm -mtriple=vax-dec-ultrix"), "unknown triple");
  contains(error_of("llvm -mtriple=vax-dec-ultrix"), "for x86_64 and aarch64, by way of C for arm and riscv64 too");
  contains(error_of("llvm -mtriple=arm64-apple-darwin"), "for example: aarch64-unknown-linux-gnu");
  contains(error_of("llvm -mtriple=arm64-apple-darwin"), "objects are ELF files");
  contains(error_of("llvm -mcpu znver4"), "-mcpu needs a value");
  contains(error_of("llvm -mtriple"), "-mtriple needs a value");
#endif
}

#if TW_LLVM
TEST(TargetParse, LevelsChooseTheRegisters) {
  const Target v3 = Target::parse("llvm -mcpu=x86-64-v3").value_or_throw();
  EXPECT_EQ(v3.abilities.vector_bits, 256);
  EXPECT_EQ(v3.abilities.vector_registers, 16);
  EXPECT_TRUE(v3.has("fma"));
  EXPECT_FALSE(v3.has("avx512f"));
  const Target v4 = Target::parse("llvm -mcpu=x86-64-v4").value_or_throw();
  EXPECT_EQ(v4.abilities.vector_bits, 512);
  EXPECT_EQ(v4.abilities.vector_registers, 32);
  EXPECT_EQ(v4.lanes(32), 16);
  EXPECT_EQ(Target::parse("llvm").value_or_throw().abilities.vector_bits, 128);
  EXPECT_EQ(Target::parse("llvm -mcpu=x86-64-v4 -mattr=-avx512f").value_or_throw().abilities.vector_bits, 256);
}

TEST(TargetParse, TextIsCanonical) {
  for (const char* text : {"llvm", "llvm -mcpu=x86-64-v2 -mattr=+avx,-popcnt", "llvm -mcpu=native",
                           "llvm -mcpu=x86-64-v4 -mattr=-avx512f", "  llvm   -mattr=+fma  "}) {
    const Target target = Target::parse(text).value_or_throw();
    EXPECT_EQ(Target::parse(target.to_string()).value_or_throw(), target) << text;
    EXPECT_EQ(target.to_string().find("native"), std::string::npos);
  }
}

TEST(TargetParse, ThisMachineRunsItsOwnCode) { EXPECT_TRUE(Target::host().missing_here().empty()); }
#endif

TEST(HardwareDescription, HasCachesAndCores) {
  EXPECT_GE(host_hardware().cores, 1);
  EXPECT_GT(host_hardware().l1_bytes, 0);
  contains(host_hardware().to_string(), "cores");
}

TEST(Nearest, ListsTheClosestFirst) {
  EXPECT_EQ(support::did_you_mean("vectorise", {"unroll", "vectorize", "parallel"}), "did you mean vectorize?");
  EXPECT_EQ(support::did_you_mean("zzzz", {"unroll"}), "");
  EXPECT_EQ(support::nearest("ij", {"i", "j", "kkkk"}), (std::vector<std::string>{"i", "j"}));
}

}  // namespace
}  // namespace tw
