// What targets can do, by CPU.
#include <gtest/gtest.h>

#include "src/target/abilities.h"

namespace tw {
namespace {

Target on(const std::string& options) { return Target::parse("c " + options).value_or_throw(); }

struct Row {
  const char* options;
  int bits, registers;
  const char* can;  // of masks fma rounding float16
  std::vector<DotLanes> dots;
};

std::string can(const Abilities& a) {
  std::string text;
  const auto add = [&](bool has, const char* word) {
    text += has ? (text.empty() ? "" : " ") + std::string(word) : "";
  };
  add(a.lane_products > 0, "lane_products");
  add(a.masks, "masks");
  add(a.fma, "fma");
  add(a.rounding, "rounding");
  add(a.float16, "float16");
  return text;
}

constexpr DotProduct kU8I8 = DotProduct::kU8I8, kI8I8 = DotProduct::kI8I8, kU8U8 = DotProduct::kU8U8,
                     kBF16 = DotProduct::kBF16, kBF16Odd = DotProduct::kBF16Odd, kMatI8I8 = DotProduct::kMatI8I8,
                     kMatBF16Odd = DotProduct::kMatBF16Odd;

TEST(TargetAbilities, AddressesOfLoads) {
  Target neon = on("-mtriple=aarch64-linux-gnu");
  EXPECT_TRUE(target::adds_one_offset(neon));
  neon.abilities.masks = true;  // as SVE has them
  EXPECT_FALSE(target::adds_one_offset(neon));
  EXPECT_FALSE(target::adds_one_offset(on("-mcpu=znver4")));
  EXPECT_FALSE(target::adds_one_offset(on("-mtriple=riscv64-linux-gnu")));
}

TEST(TargetAbilities, OfCpus) {
  const Row rows[] = {
      {"-mtriple=x86_64-linux-gnu", 128, 16, "", {}},
      {"-mcpu=core2", 128, 16, "", {}},
      {"-mcpu=nehalem", 128, 16, "rounding", {}},
      {"-mcpu=sandybridge", 256, 16, "rounding", {}},
      {"-mcpu=ivybridge", 256, 16, "rounding float16", {}},
      {"-mcpu=x86-64-v3", 256, 16, "fma rounding float16", {}},
      {"-mcpu=alderlake", 256, 16, "fma rounding float16", {{kU8I8, 8}, {kI8I8, 8, 4}}},
      {"-mcpu=x86-64-v4", 512, 32, "masks fma rounding float16", {}},
      {"-mcpu=cascadelake", 512, 32, "masks fma rounding float16", {{kU8I8, 16}, {kI8I8, 16, 4}}},
      {"-mcpu=znver4", 512, 32, "masks fma rounding float16", {{kU8I8, 16}, {kI8I8, 16, 4}, {kBF16, 16}}},
      {"-mcpu=znver5", 512, 32, "masks fma rounding float16", {{kU8I8, 16}, {kI8I8, 16, 4}, {kBF16, 16}}},
      {"-mcpu=znver5 -mattr=-avx512f", 256, 16, "fma rounding float16", {{kU8I8, 8}, {kI8I8, 8, 4}}},
      {"-mcpu=znver3 -mattr=-fma", 256, 16, "rounding float16", {}},
      {"-mtriple=aarch64-linux-gnu", 128, 32, "lane_products fma rounding float16", {}},
      {"-mtriple=aarch64-linux-gnu -mattr=+dotprod",
       128,
       32,
       "lane_products fma rounding float16",
       {{kI8I8, 4}, {kU8U8, 4}, {kU8I8, 4, 6}}},
      {"-mtriple=aarch64-linux-gnu -mattr=+dotprod,+i8mm,+bf16",
       128,
       32,
       "lane_products fma rounding float16",
       {{kI8I8, 4}, {kU8U8, 4}, {kU8I8, 4}, {kMatI8I8, 4}, {kBF16Odd, 4}, {kMatBF16Odd, 4}}},
      {"-mtriple=aarch64-linux-gnu -mattr=-neon", 128, 32, "", {}},
  };
  for (const Row& row : rows) {
    const Abilities a = on(row.options).abilities;
    EXPECT_EQ(a.vector_bits, row.bits) << row.options;
    EXPECT_EQ(a.vector_registers, row.registers) << row.options;
    EXPECT_EQ(can(a), row.can) << row.options;
    EXPECT_EQ(a.dots, row.dots) << row.options;
    EXPECT_FALSE(a.device.has_value()) << row.options;
  }
}

// C has no words for them.
TEST(TargetAbilities, TilesAreOfWhoHasThem) {
  const auto tiles = [](const std::string& target) { return Target::parse(target).value_or_throw().abilities.tiles; };
  EXPECT_FALSE(tiles("interp -mcpu=x86-64-v4"));
  EXPECT_EQ(tiles("interp -mcpu=sapphirerapids"), (Tiles{8, 16, 64, true, true}));
  EXPECT_EQ(tiles("interp -mcpu=sapphirerapids -mattr=-amx-bf16"), (Tiles{8, 16, 64, true, false}));
  EXPECT_FALSE(tiles("interp -mcpu=sapphirerapids -mattr=-amx-tile"));
  EXPECT_FALSE(tiles("c -mcpu=sapphirerapids"));
}

// Vectors that are longer than NEON's have a predicate for each lane; C knows no length.
TEST(TargetAbilities, OfSve) {
  const std::string sve = "-mtriple=aarch64-linux-gnu -mattr=+sve";
  const auto with = [&](const std::string& kind, const std::string& bits) {
    return Target::parse(kind + " " + sve + bits).value_or_throw().abilities;
  };
  const Abilities wide = with("interp", " -msve-vector-bits=512");
  EXPECT_EQ(wide.vector_bits, 512);
  EXPECT_EQ(wide.vector_registers, 32);
  EXPECT_EQ(can(wide), "lane_products masks fma rounding float16");
  EXPECT_EQ(can(with("interp", " -msve-vector-bits=128")), "lane_products masks fma rounding float16");
  EXPECT_EQ(with("interp", "").vector_bits, 128);
  EXPECT_EQ(can(with("c", "")), "lane_products fma rounding float16");
}

// The interpreter runs what was lowered for a CPU, and knows masks wherever.
TEST(TargetAbilities, OfTheInterpreter) {
  EXPECT_EQ(can(Target::parse("interp").value_or_throw().abilities), "masks");
  EXPECT_EQ(can(Target::parse("interp -mcpu=x86-64-v3").value_or_throw().abilities), "masks fma rounding float16");
}

TEST(TargetAbilities, OfDevices) {
  const auto shared = [](const std::string& arch) {
    return Target::parse("cuda -arch=" + arch).value_or_throw().abilities.device->shared_bytes;
  };
  EXPECT_EQ(shared("sm_80"), 166912);
  EXPECT_EQ(shared("sm_87"), 166912);
  EXPECT_EQ(shared("sm_89"), 101376);
  EXPECT_EQ(shared("sm_90a"), 232448);
  EXPECT_EQ(shared("sm_100"), 232448);
  const Abilities a = Target::parse("cuda -arch=sm_90a").value_or_throw().abilities;
  EXPECT_EQ(a.device, (Device{32, 232448, 65536, 1024}));
  EXPECT_EQ(a.vector_bits, 128);
  EXPECT_EQ(can(a), "fma rounding float16");
}

TEST(TargetAbilities, AnArchitectureWithoutATableHasPlainVectors) {
  EXPECT_EQ(target::abilities_of("c", "riscv64-unknown-linux-gnu", {"v"}), Abilities{});
}

}  // namespace
}  // namespace tw
