#include "codegen/cpu_check.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "codegen/cuda_context.h"
#include "src/target/aarch64.h"
#include "src/target/cuda.h"
#include "src/target/triple.h"
#include "src/target/x86.h"

namespace tw::codegen {

namespace {

// CPUID answers of another leaf past the highest that it has. What the system does not save when it switches threads,
// code cannot use. Linux gives AMX's registers to a process that asks (ARCH_REQ_XCOMP_PERM of XTILEDATA) by arch_prctl,
// which libraries have no function for.
const char* const kX86 = R"(
#ifndef TENSORWRIGHT_X86
#define TENSORWRIGHT_X86
#ifndef __x86_64__
#error "these kernels are for x86-64: make them for this CPU by -mtriple of their target, or as C by the target c"
#endif
static inline void tensorwright_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* answer) {
  __asm__ volatile("cpuid" : "=a"(answer[0]), "=b"(answer[1]), "=c"(answer[2]), "=d"(answer[3]) : "a"(leaf), "c"(subleaf));
}
/* Whether a register of CPUID's (0: eax, .. 3: edx) has all of the bits. */
static inline int tensorwright_has(uint32_t leaf, uint32_t subleaf, int at, uint32_t bits) {
  uint32_t answer[4];
  tensorwright_cpuid(leaf & 0x80000000u, 0, answer);
  if (answer[0] < leaf) return 0;
  tensorwright_cpuid(leaf, 0, answer);
  if (leaf == 7 && answer[0] < subleaf) return 0;
  tensorwright_cpuid(leaf, subleaf, answer);
  return (answer[at] & bits) == bits;
}
/* Whether the system saves all of these registers, bits of XCR0. */
static inline int tensorwright_saves(uint32_t bits) {
  uint32_t low, high;
  if (!tensorwright_has(1, 0, 2, 1u << 27)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return (low & bits) == bits;
}
static inline int tensorwright_may_use_tiles(void) {
  long code;
  __asm__ volatile("syscall" : "=a"(code) : "a"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return code == 0;
}
#endif
)";

// A system may give a process shorter vectors than the CPU has. rdvl x0, #1: assemblers may not know it by its name.
const char* const kAArch64 = R"(
#ifndef TENSORWRIGHT_AARCH64
#define TENSORWRIGHT_AARCH64
#ifndef __aarch64__
#error "these kernels are for AArch64: make them for this CPU by -mtriple of their target, or as C by the target c"
#endif
#include <sys/auxv.h>
static inline int tensorwright_has(unsigned long bits, unsigned long bits2) {
  return (getauxval(AT_HWCAP) & bits) == bits && (getauxval(AT_HWCAP2) & bits2) == bits2;
}
static inline uint32_t tensorwright_vector_bits(void) {
  const unsigned long sve = 1UL << 22;
  uint64_t bytes;
  if ((getauxval(AT_HWCAP) & sve) == 0) return 0;
  __asm__ volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes) : : "x0");
  return (uint32_t)bytes * 8;
}
#endif
)";

std::string hexadecimal(uint64_t value, const char* suffix) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx%s", static_cast<unsigned long long>(value), suffix);
  return text;
}

void add(std::string& condition, const std::string& term) { condition += (condition.empty() ? "" : " && ") + term; }

uint32_t saved_by(target::x86::State state) {
  switch (state) {
    case target::x86::State::kNone:
      return 0;
    case target::x86::State::kYmm:
      return 0x6;
    case target::x86::State::kZmm:
      return 0xe6;
    case target::x86::State::kTiles:
      return 0x60000;
    case target::x86::State::kApx:
      return 0x80000;
  }
  return 0;
}

std::string condition_of_x86(const Target& target, bool tiles) {
  std::map<std::tuple<uint32_t, uint32_t, int>, uint32_t> wanted;
  uint32_t saved = 0;
  for (const target::x86::Feature& feature : target::x86::features()) {
    if (!target.has(feature.name)) continue;
    if (feature.state == target::x86::State::kTiles && !tiles) continue;  // only their products use them
    wanted[{feature.leaf, feature.subleaf, static_cast<int>(feature.at)}] |= 1u << feature.bit;
    saved |= saved_by(feature.state);
  }
  std::string condition;
  for (const auto& [where, bits] : wanted) {
    const auto& [leaf, subleaf, at] = where;
    add(condition, "tensorwright_has(" + hexadecimal(leaf, "u") + ", " + std::to_string(subleaf) + ", " +
                       std::to_string(at) + ", " + hexadecimal(bits, "u") + ")");
  }
  if (saved != 0) add(condition, "tensorwright_saves(" + hexadecimal(saved, "u") + ")");
  if (tiles) add(condition, "tensorwright_may_use_tiles()");
  return condition;
}

std::string condition_of_aarch64(const Target& target) {
  const auto [bits, bits2] = target::aarch64::hwcaps_of({target.features.begin(), target.features.end()});
  std::string condition = "tensorwright_has(" + hexadecimal(bits, "UL") + ", " + hexadecimal(bits2, "UL") + ")";
  if (target.sve_bits > 0) add(condition, "tensorwright_vector_bits() == " + std::to_string(target.sve_bits));
  return condition;
}

bool is_aarch64(const std::string& triple) { return target::architecture_of(triple) == "aarch64"; }

std::string launched_from(const std::string& host) {
  const bool arm = is_aarch64(host);
  const std::string macro = arm ? "__aarch64__" : "__x86_64__", cpu = arm ? "AArch64" : "x86-64";
  return "#ifndef " + macro + "\n#error \"what launches these kernels is code for " + cpu +
         ": save them for the machine that this is compiled for\"\n#endif\n";
}

}  // namespace

std::string cpu_condition(const Target& target, bool tiles) {
  if (target.abilities.device) {
    const auto [major, minor, exact] = target::cuda::capability_of(target.arch);
    return "tensorwright_cuda_runs(" + std::to_string(major) + ", " + std::to_string(minor) + (exact ? ", 1)" : ", 0)");
  }
  if (target.kind != "llvm") return "";  // C is compiled for whatever its compiler is told
  return is_aarch64(target.triple) ? condition_of_aarch64(target) : condition_of_x86(target, tiles);
}

std::string cpu_functions(const Target& target, const std::string& host) {
  if (target.abilities.device) return cuda_context() + launched_from(host);
  if (target.kind != "llvm") return "";
  return is_aarch64(target.triple) ? kAArch64 : kX86;
}

}  // namespace tw::codegen
