// What a CPU has: the one place that answers. From what the CPU and the system say of it, as data, to the features
// whose instructions code may use there, and to the name by which compilers know how such a CPU schedules.
//
// Features have LLVM's names. Those of the system's own instructions, of debugging and of hints (rtm, pku, cldemote,
// ...) are none of code: in_code says which. A hypervisor may show or hide them as it likes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/target.h"

namespace tw::target {

struct CpuidLeaf {
  uint32_t leaf, subleaf, eax, ebx, ecx, edx;
};

// Of an x86-64. What the system does not save when it switches threads, code cannot use, whatever CPUID says.
struct CpuidRecord {
  std::vector<CpuidLeaf> leaves;  // those that are missing answer 0
  uint64_t xcr0 = 0;              // the registers that the system saves
  bool grants_tiles = false;      // whether it lets this process use AMX's
};

// Of an AArch64: AT_HWCAP and AT_HWCAP2 of the auxiliary vector, MIDR_EL1, and the length of SVE's vectors that the
// system gives to processes.
struct HwcapRecord {
  uint64_t hwcap = 0, hwcap2 = 0;
  uint32_t midr = 0;
  int sve_bits = 0;
};

struct Cpu {
  std::string triple;
  // Such a CPU has all that this one has. A model that should not have these features (hypervisors and emulators show
  // any number) says nothing of how it schedules: then it is `level`.
  std::string name;
  std::string level;                  // "x86-64-v3", "generic": all of it is here
  std::string model;                  // what the model number stands for, true or not; empty: nothing that we know
  std::vector<std::string> features;  // what code may use, sorted
  int sve_bits = 0;                   // 0: without SVE
  std::vector<std::string> asked;     // what -mcpu=native makes use of: `features` without what is young in compilers
  bool has(std::string_view feature) const;
};

Cpu cpu_of(const CpuidRecord&);
Cpu cpu_of(const HwcapRecord&);
const Cpu& host_cpu();  // describe, of this machine

// Target::parse where -mcpu=native means that CPU, whether or not this build makes code of the kind.
Result<Target> parse_on(const Cpu&, std::string_view text);
// What code for the target may use, by the list of its features and the length of SVE's vectors (0: any), and that CPU
// does not have.
std::vector<std::string> missing_on(const Cpu&, const std::vector<std::string>& features, int sve_bits = 0);

// What keeps a machine with that CPU, or this one, from running code for the target; empty where it can.
std::string why_not_on(const Cpu&, const Target&);
std::string why_not_here(const Target&);

// Whether code that a compiler makes of ours may contain instructions of the feature.
bool in_code(std::string_view triple, std::string_view feature);
// Whether describe knows how to find it.
bool in_table(std::string_view triple, std::string_view feature);

}  // namespace tw::target
