// Target strings without a code generator in the process: the levels of x86-64 and this machine.
#include <gtest/gtest.h>

#include "src/support/nearest.h"
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

TEST(TargetParse, UnknownKindsAndOptionsNameTheNearest) {
  contains(error_of("lvm -mcpu=native"), "did you mean llvm?");
  contains(error_of(""), "must be llvm, c or interp");
#if TW_LLVM
  contains(error_of("llvm -mpcu=native"), "did you mean -mcpu");
  contains(error_of("llvm native"), "an option must be");
  contains(error_of("llvm -mcpu="), "-mcpu needs a value");
  contains(error_of("llvm -mcpu=x86-64-v33"), "did you mean x86-64-v3");
  contains(error_of("llvm -mcpu=x86-64-v3 -mattr=avx2"), "must begin with + or -");
  contains(error_of("llvm -mcpu=x86-64-v3 -mattr=+avx7"), "did you mean avx");
  contains(error_of("llvm -mtriple=vax-dec-ultrix"), "unknown triple");
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
