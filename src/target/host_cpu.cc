// What the CPU that we run on says of itself: the instructions and system calls behind cpu_of's records.
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "src/target/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tw::target {

namespace {

#if defined(__x86_64__)

uint64_t read_xcr0() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux gives AMX's registers to a process that asks. A thread with a small alternate signal stack makes it refuse.
bool ask_for_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuidRecord read_host() {
  CpuidRecord record;
  constexpr uint32_t kExtended = 0x80000000;
  // A hypervisor answers each in tens of microseconds, and every worker asks: once for each, and once for the highest.
  const std::array highest = {__get_cpuid_max(0, nullptr), __get_cpuid_max(kExtended, nullptr)};
  for (const auto& [leaf, subleaf] :
       {std::pair<uint32_t, uint32_t>{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0x24, 0}, {kExtended + 1, 0}}) {
    if (leaf > highest[leaf >= kExtended]) continue;
    CpuidLeaf row = {leaf, subleaf, 0, 0, 0, 0};
    __cpuid_count(leaf, subleaf, row.eax, row.ebx, row.ecx, row.edx);
    record.leaves.push_back(row);
  }
  const auto bits = [&](uint32_t leaf, uint32_t CpuidLeaf::* at) {
    for (const CpuidLeaf& row : record.leaves)
      if (row.leaf == leaf && row.subleaf == 0) return row.*at;
    return 0u;
  };
  constexpr uint32_t kSystemUsesXsave = 1u << 27, kTiles = 1u << 24;
  constexpr uint64_t kTileState = 0x60000;
  if (bits(1, &CpuidLeaf::ecx) & kSystemUsesXsave) record.xcr0 = read_xcr0();
  const bool has_tiles = (bits(7, &CpuidLeaf::edx) & kTiles) && (record.xcr0 & kTileState) == kTileState;
  record.grants_tiles = has_tiles && ask_for_tiles();
  return record;
}

#elif defined(__aarch64__)

// Of all cores the one with the highest number, as big and little ones share a system: any thread gets the same answer.
uint32_t read_midr() {
  uint32_t highest = 0;
  for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); ++i) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/regs/identification/midr_el1");
    uint64_t midr = 0;
    if (file >> std::hex >> midr) highest = std::max(highest, static_cast<uint32_t>(midr));
  }
  constexpr uint64_t kSystemAnswersReads = 1 << 11;  // HWCAP_CPUID
  if (highest != 0 || !(getauxval(AT_HWCAP) & kSystemAnswersReads)) return highest;
  uint64_t midr;  // where there is no /sys, that of the core that we are on
  asm("mrs %0, MIDR_EL1" : "=r"(midr));
  return static_cast<uint32_t>(midr);
}

// Of this thread, and of those that it starts. -1 where there is no SVE.
int read_sve_bits() {
  constexpr int kGetVectorLength = 51, kBytes = 0xffff;  // PR_SVE_GET_VL, PR_SVE_VL_LEN_MASK
  const int answer = prctl(kGetVectorLength, 0, 0, 0, 0);
  return answer < 0 ? 0 : 8 * (answer & kBytes);
}

HwcapRecord read_host() { return {getauxval(AT_HWCAP), getauxval(AT_HWCAP2), read_midr(), read_sve_bits()}; }

#else
#error "Tensorwright runs on x86-64 and AArch64"
#endif

}  // namespace

const Cpu& host_cpu() {
  static const Cpu cpu = cpu_of(read_host());
  return cpu;
}

}  // namespace tw::target
