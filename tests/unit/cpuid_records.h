// What CPUs answer to CPUID, and what -mcpu=native is on each, written from the manufacturers' manuals. Leaf 1 says
// family, model and stepping in EAX.
#pragma once

#include <string>
#include <vector>

#include "src/target/cpu.h"

namespace tw::target::testing {

constexpr uint64_t kSse = 0x3, kAvx = 0x7, kAvx512 = 0xe7, kTiles = 0x60000;  // what XCR0 says that the system saves

struct Leaf1 {
  uint32_t eax, ecx;
};
struct Leaf7 {
  uint32_t ebx = 0, ecx = 0, edx = 0;
  uint32_t eax_1 = 0, edx_1 = 0;  // of subleaf 1
};

inline CpuidRecord record(const char* vendor, Leaf1 one, Leaf7 seven, uint32_t extended_ecx, uint64_t xcr0,
                          uint32_t avx10 = 0) {
  const auto four = [&](int at) {
    uint32_t bytes = 0;
    for (int i = 3; i >= 0; --i) bytes = bytes << 8 | static_cast<unsigned char>(vendor[at + i]);
    return bytes;
  };
  CpuidRecord r;
  r.leaves = {{0, 0, avx10 ? 0x24u : 0x16u, four(0), four(8), four(4)},
              {1, 0, one.eax, 0, one.ecx, 0xbfebfbff},
              {7, 0, 1, seven.ebx, seven.ecx, seven.edx},
              {7, 1, seven.eax_1, 0, 0, seven.edx_1},
              {0x24, 0, 0, avx10, 0, 0},
              {0x80000001, 0, 0, 0, extended_ecx, 0x2c100800}};
  r.xcr0 = xcr0;
  r.grants_tiles = (xcr0 & kTiles) != 0;
  return r;
}

struct Machine {
  std::string name;
  CpuidRecord cpuid;
  std::string native;  // -mcpu=native, in full
};

inline CpuidRecord with_signature(CpuidRecord r, uint32_t eax) {
  r.leaves[1].eax = eax;
  return r;
}
inline CpuidRecord with_xcr0(CpuidRecord r, uint64_t xcr0) {
  r.xcr0 = xcr0;
  return r;
}
inline CpuidRecord without_tiles(CpuidRecord r) {
  r.grants_tiles = false;
  return r;
}

inline CpuidRecord nehalem() { return record("GenuineIntel", {0x000106a5, 0x009ce3bd}, {}, 0x1, 0); }
inline CpuidRecord haswell() { return record("GenuineIntel", {0x000306c3, 0x7ffafbff}, {0x000027ab}, 0x21, kAvx); }
inline CpuidRecord skylake_x() {
  return record("GenuineIntel", {0x00050654, 0x7ffefbff}, {0xd39ffffb, 0x00000008, 0x9c000000}, 0x121, kAvx512);
}
inline CpuidRecord cascade_lake() {
  return record("GenuineIntel", {0x00050657, 0x7ffefbff}, {0xd39ffffb, 0x00000818, 0xbc000000}, 0x121, kAvx512);
}
inline CpuidRecord ice_lake_server() {
  return record("GenuineIntel", {0x000606a6, 0x7ffefbff}, {0xf3bfbfeb, 0x00417f5e, 0xbc040412}, 0x121, kAvx512);
}
inline CpuidRecord sapphire_rapids() {
  return record("GenuineIntel", {0x000806f8, 0x7ffefbff}, {0xf3bfbffb, 0xfb417ffe, 0xffdd4432, 0x00001c30}, 0x121,
                kAvx512 | kTiles);
}
inline CpuidRecord granite_rapids() {  // AVX10, version 1, all three lengths
  return record("GenuineIntel", {0x000a06d1, 0x7ffefbff}, {0xf3bfbffb, 0xfb417ffe, 0xffdd4432, 0x00201c30, 0x00084000},
                0x121, kAvx512 | kTiles, 0x00070001);
}
inline CpuidRecord alder_lake() {
  return record("GenuineIntel", {0x00090672, 0x7ffafbff}, {0x239ca7eb, 0x98c027ac, 0xfc1cc410, 0x00400810}, 0x121,
                kAvx);
}
inline CpuidRecord zen2() {
  return record("AuthenticAMD", {0x00830f10, 0x7ef8320b}, {0x219c91a9, 0x00400004}, 0x75c237ff, kAvx);
}
inline CpuidRecord zen3() {
  return record("AuthenticAMD", {0x00a00f11, 0x7ef8320b}, {0x219c97a9, 0x0040069c}, 0x75c237ff, kAvx);
}
inline CpuidRecord zen4() {
  return record("AuthenticAMD", {0x00a10f11, 0x7ef8320b}, {0xf1bf97a9, 0x00405fce, 0x10000010, 0x20}, 0x75c237ff,
                kAvx512);
}
inline CpuidRecord zen5() {
  return record("AuthenticAMD", {0x00b00f21, 0x7ef8320b}, {0xf1bf97a9, 0x18405fce, 0x10000110, 0x30, 0x4000},
                0x75c237ff, kAvx512);
}
inline CpuidRecord qemu64() { return record("AuthenticAMD", {0x00060fb1, 0x80002001}, {}, 0x5, 0); }

constexpr const char* kNoAvx512OfIceLake =
    "-avx512bitalg,-avx512bw,-avx512cd,-avx512dq,-avx512f,-avx512ifma,-avx512vbmi,-avx512vbmi2,-avx512vl,-avx512vnni,"
    "-avx512vpopcntdq";

inline std::vector<Machine> machines() {
  return {
      {"Nehalem", nehalem(), "-mcpu=nehalem"},
      {"Haswell", haswell(), "-mcpu=haswell"},
      {"Skylake-X", skylake_x(), "-mcpu=skylake-avx512"},
      {"Cascade Lake", cascade_lake(), "-mcpu=cascadelake"},
      {"Ice Lake server", ice_lake_server(), "-mcpu=icelake-server"},
      {"Sapphire Rapids", sapphire_rapids(), "-mcpu=sapphirerapids"},
      {"Granite Rapids", granite_rapids(), "-mcpu=graniterapids"},
      {"Alder Lake", alder_lake(), "-mcpu=alderlake"},
      {"Zen 2", zen2(), "-mcpu=znver2"},
      {"Zen 3", zen3(), "-mcpu=znver3"},
      {"Zen 4", zen4(), "-mcpu=znver4"},
      {"Zen 5", zen5(), "-mcpu=znver5"},
      {"QEMU's qemu64", qemu64(), "-mcpu=x86-64 -mattr=+sse3"},
      {"AVX-512 that the system does not save", with_xcr0(ice_lake_server(), kAvx),
       std::string("-mcpu=icelake-server -mattr=") + kNoAvx512OfIceLake},
      {"vectors of 256 bits that the system does not save", with_xcr0(haswell(), kSse),
       "-mcpu=haswell -mattr=-avx,-avx2,-f16c,-fma"},
      {"AMX without permission", without_tiles(sapphire_rapids()),
       "-mcpu=sapphirerapids -mattr=-amx-bf16,-amx-int8,-amx-tile"},
      // Rocket Lake has neither AMX nor AVX10.
      {"a model number that contradicts the features", with_signature(granite_rapids(), 0x000a0671),
       "-mcpu=x86-64-v4 -mattr=+amx-bf16,+amx-fp16,+amx-int8,+amx-tile,+avx512bf16,+avx512bitalg,+avx512fp16,"
       "+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512vpopcntdq,+avxvnni,+gfni"},
      {"a Zen 2 that claims AVX-512", with_signature(zen4(), 0x00830f10),
       "-mcpu=x86-64-v4 -mattr=+avx512bf16,+avx512bitalg,+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,"
       "+avx512vpopcntdq,+gfni,+sse4a"},
      {"a model that nobody knows", with_signature(haswell(), 0x000f06f0), "-mcpu=x86-64-v3"},
  };
}

}  // namespace tw::target::testing
