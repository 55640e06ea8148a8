// What machines say of themselves, from copies of their files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/target/hardware.h"
#include "tests/unit/folder.h"

namespace tw::target {
namespace {

struct Kind {
  int count;
  const char* midr;
  int capacity;
  const char* l2;
};

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text << "\n";
}

HardwareDescription board(const std::vector<Kind>& kinds) {
  const test::Folder root;
  int number = 0;
  for (const Kind& kind : kinds)
    for (int i = 0; i < kind.count; ++i) {
      const std::string cpu = (root / "sys/devices/system/cpu/cpu") + std::to_string(number++) + "/";
      write(cpu + "regs/identification/midr_el1", kind.midr);
      write(cpu + "cpufreq/cpuinfo_max_freq", kind.capacity == 1024 ? "2000000" : "1500000");
      write(cpu + "cache/index2/size", kind.l2);
      write(cpu + "cache/index2/type", "Unified");
      write(cpu + "cache/index2/level", "2");
      if (kind.capacity > 0) write(cpu + "cpu_capacity", std::to_string(kind.capacity));
    }
  return describe_hardware(root.path(), number);
}

constexpr const char* kA53 = "0x00000000410fd034";
constexpr const char* kA55 = "0x00000000412fd050";
constexpr const char* kA72 = "0x00000000410fd083";
constexpr const char* kA76 = "0x00000000414fd0b1";

TEST(TargetHardware, CoresOfOneKindAreNamed) {
  EXPECT_EQ(board({{4, kA72, 1024, "1024K"}}).to_string(), "cortex-a72, 4 cores, caches 32K 1024K 0K");
  EXPECT_EQ(board({{4, kA76, 0, "512K"}}).cpu_model, "cortex-a76");
  EXPECT_EQ(board({{1, "0x00000000610f0230", 0, "512K"}}).cpu_model, "implementer 0x61 part 0x23");
}

TEST(TargetHardware, ClustersAreToldApartAndTheFastestCoresCount) {
  const HardwareDescription big = board({{4, kA53, 485, "512K"}, {2, kA72, 1024, "1024K"}});
  EXPECT_EQ(big.cpu_model, "2 x cortex-a72 (1024) + 4 x cortex-a53 (485)");
  EXPECT_EQ(big.cores, 6);
  EXPECT_EQ(big.l2_bytes, 1024 << 10);
  EXPECT_EQ(big.hertz, 2e9);
  EXPECT_EQ(board({{1, kA76, 1024, "512K"}, {3, kA76, 870, "512K"}, {4, kA55, 290, "128K"}}).cpu_model,
            "1 x cortex-a76 (1024) + 3 x cortex-a76 (870) + 4 x cortex-a55 (290)");
}

TEST(TargetHardware, BoardsOfOneCoreCountHaveKeysOfTheirOwn) {
  std::set<std::string> keys;
  for (const auto& kinds : {std::vector<Kind>{{8, kA53, 1024, "512K"}},
                            {{8, kA55, 1024, "512K"}},
                            {{8, kA72, 1024, "512K"}},
                            {{4, kA72, 1024, "512K"}, {4, kA53, 485, "512K"}},
                            {{2, kA76, 1024, "512K"}, {6, kA55, 414, "512K"}},
                            {{4, kA76, 1024, "512K"}, {4, kA55, 414, "512K"}}})
    keys.insert(board(kinds).to_string());
  EXPECT_EQ(keys.size(), 6u);
}

TEST(TargetHardware, WithoutSysfsProcSaysIt) {
  const test::Folder arm, x86, nothing;
  write(arm / "proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd08");
  EXPECT_EQ(describe_hardware(arm.path(), 4).cpu_model, "cortex-a72");
  write(x86 / "proc/cpuinfo", "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: A CPU\ncpu MHz\t: 2500.0");
  EXPECT_EQ(describe_hardware(x86.path(), 2).cpu_model, "A CPU (family 25 model 17)");
  EXPECT_EQ(describe_hardware(x86.path(), 2).hertz, 2.5e9);
  EXPECT_EQ(describe_hardware(nothing.path(), 2).cpu_model, "unknown");
}

}  // namespace
}  // namespace tw::target
