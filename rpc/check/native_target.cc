#include "rpc/check/native_target.h"

#include "src/target/cpu.h"

namespace tw::rpc {

std::string native_target() {
  const target::Cpu& cpu = target::host_cpu();
  if (target::parse_on(cpu, "llvm -mcpu=" + cpu.name).ok())
    return target::parse_on(cpu, "llvm -mcpu=native").value_or_throw().to_string();
  // A name that only the compiler knows: it drops what that implies.
  std::string text = "llvm -mcpu=" + cpu.name + " -mtriple=" + cpu.triple;
  for (size_t i = 0; i < cpu.asked.size(); ++i) text += (i == 0 ? " -mattr=+" : ",+") + cpu.asked[i];
  if (cpu.sve_bits > 0) text += " -msve-vector-bits=" + std::to_string(cpu.sve_bits);
  return text;
}

}  // namespace tw::rpc
